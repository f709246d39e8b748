/**
 * Finds what a file of src exports although no other file asks for it, so that `export` keeps saying "used elsewhere".
 * Names that the public namespace passes on count as asked for; so do ops, which are found by their names in the registry.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAst } from 'rolldown/parseAst';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const folders = ['src', 'test', 'tools', 'bench', 'examples'];
/** What is used from outside: by programs that import the package, and by the command line. */
const doors = ['src/api/index.ts', 'src/cli/main.ts'].map((file) => join(root, file));
const everything = '*';

function files(folder) {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(ts|mjs)$/.test(entry.name))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}

/** All nodes of a syntax tree. */
function* nodesOf(node) {
  if (Array.isArray(node)) for (const child of node) yield* nodesOf(child);
  else if (node && typeof node === 'object') {
    if (typeof node.type === 'string') yield node;
    for (const child of Object.values(node)) if (child && typeof child === 'object') yield* nodesOf(child);
  }
}

const nameOf = (node) => node.name ?? node.value;

/** Constants with a capital are ops where ops are. */
const isOp = (file, { type }, name) =>
  file.startsWith(join(root, 'src/ops')) && type === 'VariableDeclaration' && /^[A-Z]/.test(name);

/** The names that a declaration declares. */
function declared({ type, id, declarations }) {
  return type === 'VariableDeclaration' ? declarations.flatMap(({ id: pattern }) => boundBy(pattern)) : [id.name];
}

function boundBy(pattern) {
  if (pattern.type === 'Identifier') return [pattern.name];
  return (pattern.properties ?? pattern.elements).flatMap((part) => boundBy(part.value ?? part));
}

/** Types in the declarations of other exports: whoever uses those may want to write them down. */
function typesOfOthers(declarations) {
  const types = declarations.filter(({ type }) => /^TS(Interface|TypeAlias)Declaration$/.test(type));
  return types
    .map(({ id }) => id.name)
    .filter((name) =>
      declarations.some((other) => other.id?.name !== name && [...nodesOf(other)].some((node) => node.name === name)),
    );
}

/** What a file exports, and what it takes from which other file under which name. */
function read(file) {
  const text = readFileSync(file, 'utf8');
  const { body } = parseAst(text, { lang: file.endsWith('.ts') ? 'ts' : 'js' }, file);
  const exported = new Set();
  const declarations = [];
  const taken = [];
  const take = (source, name, as) => {
    const from =
      source.value === 'tensorloom' ? doors[0] : source.value.startsWith('.') && resolve(dirname(file), source.value);
    if (from) taken.push({ from, name, as });
  };
  const namespaces = new Map();
  for (const node of body) {
    if (node.type === 'ImportDeclaration')
      for (const part of node.specifiers) {
        if (part.type === 'ImportNamespaceSpecifier') namespaces.set(part.local.name, node.source);
        else take(node.source, part.imported ? nameOf(part.imported) : 'default');
      }
    else if (node.type === 'ExportAllDeclaration')
      take(node.source, everything, node.exported ? nameOf(node.exported) : everything);
    else if (node.type === 'ExportNamedDeclaration') {
      for (const part of node.specifiers) {
        if (node.source) take(node.source, nameOf(part.local), nameOf(part.exported));
        exported.add(nameOf(part.exported));
      }
      if (!node.declaration) continue;
      declarations.push(node.declaration);
      const names = declared(node.declaration);
      for (const name of names) if (!isOp(file, node.declaration, name)) exported.add(name);
    }
  }
  for (const name of typesOfOthers(declarations)) exported.delete(name);
  const nodes = [...nodesOf(body)];
  for (const [local, source] of namespaces) {
    const mentions = nodes.filter(({ type, name }) => type === 'Identifier' && name === local).length - 1;
    const members = nodes.flatMap((node) => {
      if (node.type === 'MemberExpression' && !node.computed && node.object.name === local) return [node.property.name];
      return node.type === 'TSQualifiedName' && node.left.name === local ? [node.right.name] : [];
    });
    // A namespace that is handed on whole may be asked for anything.
    if (members.length < mentions) take(source, everything);
    else for (const name of members) take(source, name);
  }
  for (const { type, source } of nodes)
    if (type === 'ImportExpression' && source.type === 'Literal') take(source, everything);
    else if (type === 'TSImportType') take(source ?? { value: '' }, everything);
  return { exported, taken };
}

const modules = new Map(folders.flatMap(files).map((file) => [file, read(file)]));
/** For each file the names that are asked for. */
const asked = new Map([...modules.keys()].map((file) => [file, new Set(doors.includes(file) ? [everything] : [])]));

/** Names that are passed on by `export … from` are asked for only if somebody asks there. */
function ask(file, name) {
  const names = asked.get(file);
  if (!names || names.has(name)) return;
  names.add(name);
  for (const { from, name: theirs, as } of modules.get(file).taken) {
    if (as === undefined) continue;
    if (as === everything) ask(from, name);
    else if (as === name || name === everything) ask(from, theirs);
  }
}
for (const door of doors) {
  asked.get(door).clear();
  ask(door, everything);
}
for (const { taken } of modules.values()) for (const { from, name, as } of taken) if (as === undefined) ask(from, name);

const dead = [...modules].flatMap(([file, { exported }]) => {
  const names = asked.get(file);
  if (!file.startsWith(join(root, 'src')) || names.has(everything)) return [];
  return [...exported]
    .filter((name) => !names.has(name))
    .map((name) => `${relative(root, file)} exports ${name}, which nobody imports`);
});
for (const line of dead) console.error(line);
console.log(dead.length === 0 ? 'every export is used' : `${dead.length} exports are not used`);
process.exit(dead.length === 0 ? 0 : 1);
