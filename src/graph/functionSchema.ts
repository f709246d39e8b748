/** @file Functions of the library as ops: what a node whose type is a function's name takes and gives. */
import { InvalidArgumentError } from '../core/errors.ts';
import type { AttrValue } from '../proto/attr.ts';
import type { FunctionDef } from '../proto/graph.ts';
import type { ArgDef } from '../proto/opDef.ts';
import { dtypeFromProto } from '../proto/tensorProto.ts';
import type { OpSchema, PortType } from './opSchema.ts';

const refOffset = 100;

/** The schema of calls of a function. What the function computes, shapes included, is not looked into. */
export function functionSchema({ signature }: FunctionDef): OpSchema {
  if (!signature) throw new InvalidArgumentError('a function of the library has no signature');
  const typesOf = (args: readonly ArgDef[], attrs: Readonly<Record<string, AttrValue>>): PortType[] =>
    args.flatMap((arg) => argTypes(signature.name, arg, attrs));
  return {
    isStateful: signature.is_stateful,
    isIdentity: false,
    handsOn: false,
    deprecatedSince: undefined,
    complete(given, inputs) {
      const attrs = { ...given };
      for (const { name, default_value } of signature.attr) if (default_value) attrs[name] ??= default_value;
      const wanted = typesOf(signature.input_arg, attrs);
      if (wanted.length !== inputs.length)
        throw new InvalidArgumentError(
          `the function ${signature.name} takes ${wanted.length} inputs, but ${inputs.length} were given`,
        );
      for (const [i, { dtype }] of wanted.entries())
        if (inputs[i]!.dtype !== dtype)
          throw new InvalidArgumentError(
            `input ${i} of the function ${signature.name} is ${inputs[i]!.dtype}, but ${dtype} is expected`,
          );
      return attrs;
    },
    outputs: (attrs) => typesOf(signature.output_arg, attrs),
    outputNames: (attrs) =>
      signature.output_arg.flatMap((arg) => argTypes(signature.name, arg, attrs).map((_, i) => `${arg.name}:${i}`)),
    inferShapes: (op) => op.outputs.map(() => null),
  };
}

function argTypes(func: string, arg: ArgDef, attrs: Readonly<Record<string, AttrValue>>): PortType[] {
  const attr = (name: string): AttrValue => {
    const value = attrs[name];
    if (!value) throw new InvalidArgumentError(`NodeDef missing attr '${name}' from Op<name=${func}>`);
    return value;
  };
  const port = (type: number): PortType => ({ dtype: dtypeFromProto(type), isRef: arg.is_ref || type > refOffset });
  if (arg.type_list_attr !== '') return (attr(arg.type_list_attr).list?.type ?? []).map(port);
  const single = port(arg.type_attr === '' ? arg.type : (attr(arg.type_attr).type ?? 0));
  if (arg.number_attr === '') return [single];
  return new Array<PortType>(Number(attr(arg.number_attr).i ?? 0n)).fill(single);
}
