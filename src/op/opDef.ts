/** @file Ops of the registry in the form of TensorFlow's OpDef messages. */
import { AttrList, type AttrValue } from '../proto/attr.ts';
import { ArgDef, OpDef } from '../proto/opDef.ts';
import { encodeAttr } from './attrs.ts';
import type { OpDefinition, PortSpec } from './registry.ts';

/** An op of the registry in the form TensorFlow's own registry has. */
export function opDefOf(op: OpDefinition): OpDef {
  return OpDef.create({
    name: op.name,
    input_arg: op.inputPorts.map(argDef),
    output_arg: op.outputPorts.map(argDef),
    attr: Object.entries(op.attrSpecs).map(([name, spec]) => ({
      name,
      type: spec.kind,
      description: '',
      has_minimum: spec.minimum !== undefined,
      minimum: BigInt(spec.minimum ?? 0),
      default_value: spec.default === undefined ? undefined : encodeAttr(spec, spec.default),
      allowed_values: allowedValues(spec),
    })),
    is_stateful: op.isStateful,
    is_commutative: op.isCommutative,
    is_aggregate: op.isAggregate,
    allows_uninitialized_input: op.allowsUninitializedInput,
    deprecation: op.deprecatedSince === undefined ? undefined : { version: op.deprecatedSince, explanation: '' },
  });
}

function argDef(port: PortSpec): ArgDef {
  return ArgDef.create({
    name: port.name,
    type: port.type?.number ?? 0,
    type_attr: port.typeAttr ?? '',
    number_attr: port.numberAttr ?? '',
    type_list_attr: port.typeListAttr ?? '',
    is_ref: port.isRef,
  });
}

function allowedValues(spec: OpDefinition['attrSpecs'][string]): AttrValue | undefined {
  if (spec.allowed) return { list: AttrList.create({ type: spec.allowed.map((t) => t.number) }) };
  if (spec.choices) return { list: AttrList.create({ s: spec.choices.map((c) => new TextEncoder().encode(c)) }) };
  return undefined;
}
