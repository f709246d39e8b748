/** @file Names that move between scopes: the prefix that an import puts before them, and an export takes away. */

const withoutSlash = (scope: string) => (scope.endsWith('/') ? scope.slice(0, -1) : scope);
const lead = /^(\^|loc:@)?(.*)$/s;

/**
 * A name of an operation or tensor as it is under `scope`; the marks of control inputs and of places stay in front.
 *
 * @example prependNameScope('^w/Assign', 'tower') // '^tower/w/Assign'
 */
export function prependNameScope(name: string, scope: string | undefined): string {
  if (!scope) return name;
  return name.replace(
    lead,
    (_, mark: string | undefined, rest: string) => `${mark ?? ''}${withoutSlash(scope)}/${rest}`,
  );
}

/**
 * A name without the scope it is under; one that lies elsewhere stays as it is.
 *
 * @example stripNameScope('tower/w:0', 'tower') // 'w:0'
 */
export function stripNameScope(name: string, scope: string | undefined): string {
  if (!scope) return name;
  const prefix = `${withoutSlash(scope)}/`;
  return name.replace(lead, (whole: string, mark: string | undefined, rest: string) =>
    rest.startsWith(prefix) ? `${mark ?? ''}${rest.slice(prefix.length).replace(/^\/+/, '')}` : whole,
  );
}

/** Whether a name lies in a scope, as Python looks at it: by the letters it begins with. */
export function isInScope(name: string, scope: string | undefined): boolean {
  return !scope || name.startsWith(scope);
}
