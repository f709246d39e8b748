/** @file Files whose names match a pattern with `*`, `?`, `[a-z]` and `\`. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { localPath } from './paths.ts';

const hasWildcard = (text: string) => /[*?[\\]/.test(text);

/** One part of a path as a regular expression: `*` and `?` stop at `/`, as in C's fnmatch. */
function partPattern(part: string): RegExp {
  let source = '';
  for (let i = 0; i < part.length; i++) {
    const letter = part[i]!;
    const close = letter === '[' ? part.indexOf(']', part[i + 1] === '!' || part[i + 1] === '^' ? i + 3 : i + 2) : -1;
    if (letter === '*') source += '[^/]*';
    else if (letter === '?') source += '[^/]';
    else if (close > 0) {
      const inner = part.slice(i + 1, close);
      const negated = inner[0] === '!' || inner[0] === '^';
      source += `[${negated ? '^' : ''}${(negated ? inner.slice(1) : inner).replace(/[\\\]^[]/g, '\\$&')}]`;
      i = close;
    } else {
      const literal = letter === '\\' && i + 1 < part.length ? part[++i]! : letter;
      source += literal.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
    }
  }
  return new RegExp(`^${source}$`, 'su');
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder === '' ? '.' : folder);
  } catch {
    return []; // not a folder, or not readable: nothing in it matches
  }
}

/** The files and folders that match a pattern, in order of their names. Wildcards may stand in every part of a path. */
export function matchingPaths(pattern: string): string[] {
  const local = localPath(pattern);
  const scheme = pattern.slice(0, pattern.length - local.length); // of an address, which the results are then too
  return localMatches(local).map((path) => scheme + path);
}

function localMatches(pattern: string): string[] {
  if (!hasWildcard(pattern)) return existsSync(pattern) ? [pattern] : [];
  const parts = pattern.split('/');
  let found = [parts[0] === '' ? '/' : ''];
  const rest = parts[0] === '' ? parts.slice(1) : parts;
  for (const part of rest.filter((text) => text !== '')) {
    if (!hasWildcard(part)) {
      found = found.map((folder) => (folder === '' ? part : join(folder, part))).filter((path) => existsSync(path));
      continue;
    }
    const matches = partPattern(part);
    found = found.flatMap((folder) =>
      namesIn(folder)
        .filter((name) => matches.test(name))
        .map((name) => (folder === '' ? name : join(folder, name))),
    );
  }
  return found.sort();
}
