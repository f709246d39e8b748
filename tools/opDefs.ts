/** @file Op schemas as protobufs: every difference between ours and TensorFlow's. */
import { dtypeFromNumber } from '../src/core/dtypes.ts';
import { opDefOf } from '../src/op/opDef.ts';
import type { OpDefinition } from '../src/op/registry.ts';
import { AttrValue } from '../src/proto/attr.ts';
import type { ArgDef, AttrDef, OpDef } from '../src/proto/opDef.ts';
import { tensorFromProto } from '../src/proto/tensorProto.ts';

export { opDefOf };

const showArg = (a: ArgDef) =>
  `${a.name}: ${a.is_ref ? 'ref ' : ''}${a.number_attr ? `${a.number_attr} * ` : ''}${a.type_list_attr || a.type_attr || showType(a.type)}`;
const showType = (number: number) => dtypeFromNumber(number)?.name ?? `type ${number}`;

/** Allowed values as a set in words. Types that tensorloom does not have (float8, int4 …) cannot be admitted and are left out. */
function showAllowed(value: AttrValue | undefined): string {
  if (!value?.list) return 'any';
  const types = value.list.type.filter((t) => dtypeFromNumber(t)).map(showType);
  const texts = value.list.s.map((s) => new TextDecoder().decode(s));
  return [...new Set([...types, ...texts])].sort().join(' ');
}

/** A default as text. A tensor can be written in several ways that mean the same, so it is shown by its elements. */
const showDefault = (value: AttrValue | undefined) => {
  if (value === undefined) return 'none';
  if (value.tensor) return JSON.stringify(tensorFromProto(value.tensor));
  return Buffer.from(AttrValue.encode(value)).toString('hex');
};

function attrDifferences(ours: AttrDef, theirs: AttrDef): string[] {
  const parts: [string, string, string][] = [
    ['type', ours.type, theirs.type],
    ['default', showDefault(ours.default_value), showDefault(theirs.default_value)],
    ['minimum', ours.has_minimum ? `${ours.minimum}` : 'none', theirs.has_minimum ? `${theirs.minimum}` : 'none'],
    ['allowed values', showAllowed(ours.allowed_values), showAllowed(theirs.allowed_values)],
  ];
  return parts
    .filter(([, a, b]) => a !== b)
    .map(([what, a, b]) => `attr ${ours.name}: ${what} is ${a}, TensorFlow has ${b}`);
}

/** Every difference between two schemas of one op, in words. */
export function opDefDifferences(ours: OpDef, theirs: OpDef): string[] {
  const found: string[] = [];
  const compare = (what: string, a: string, b: string) => {
    if (a !== b) found.push(`${what} is ${a || 'nothing'}, TensorFlow has ${b || 'nothing'}`);
  };
  compare('inputs', ours.input_arg.map(showArg).join(', '), theirs.input_arg.map(showArg).join(', '));
  compare('outputs', ours.output_arg.map(showArg).join(', '), theirs.output_arg.map(showArg).join(', '));
  compare('attrs', ours.attr.map((a) => a.name).join(', '), theirs.attr.map((a) => a.name).join(', '));
  for (const a of ours.attr) {
    const b = theirs.attr.find((x) => x.name === a.name);
    if (b) found.push(...attrDifferences(a, b));
  }
  compare('stateful', String(ours.is_stateful), String(theirs.is_stateful));
  compare('commutative', String(ours.is_commutative), String(theirs.is_commutative));
  compare('aggregate', String(ours.is_aggregate), String(theirs.is_aggregate));
  compare(
    'allowsUninitializedInput',
    String(ours.allows_uninitialized_input),
    String(theirs.allows_uninitialized_input),
  );
  compare('deprecation', String(ours.deprecation?.version), String(theirs.deprecation?.version));
  return found;
}

/** The differences of all ops both sides have, `Op: what`; ops TensorFlow does not know are differences too. */
export function registryDifferences(ours: Iterable<OpDefinition>, theirs: readonly OpDef[]): string[] {
  const byName = new Map(theirs.map((def) => [def.name, def]));
  return [...ours].flatMap((op) => {
    const def = byName.get(op.name);
    if (!def) return [`${op.name}: TensorFlow has no such op`];
    return opDefDifferences(opDefOf(op), def).map((text) => `${op.name}: ${text}`);
  });
}
