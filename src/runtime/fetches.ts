/** @file Fetches in any structure: finds the tensors and operations in it, and puts the results in their place. */
import { OpError } from '../core/errors.ts';
import type { NDArray } from '../core/ndarray.ts';
import { composite, fetchedValue, isFetchable } from '../graph/composite.ts';
import type { Graph } from '../graph/graph.ts';
import { IndexedSlices } from '../graph/indexedSlices.ts';
import { isNamedTuple, namedTuple } from '../graph/namedTuple.ts';
import { Operation } from '../graph/operation.ts';
import type { GraphElement } from '../graph/runTypes.ts';
import { SparseTensor, SparseTensorValue } from '../graph/sparseTensor.ts';
import { Tensor } from '../graph/tensor.ts';
import { userError } from '../graph/userError.ts';

export type { Fetch, Fetched } from '../graph/runTypes.ts';

/** A fetch taken apart: which tensors and targets to run, and how to put results together. */
export interface FetchPlan {
  readonly tensors: readonly Tensor[];
  readonly targets: readonly Operation[];
  /** The results of `tensors`, in order, in the structure of the fetch. */
  assemble(results: readonly NDArray[]): unknown;
}

/** Takes a fetch apart. Equal tensors are fetched once. */
export function planFetches(fetch: unknown, graph: Graph): FetchPlan {
  const tensors: Tensor[] = [];
  const targets: Operation[] = [];
  const positions = new Map<Tensor, number>();
  const place = (tensor: Tensor): ((results: readonly NDArray[]) => NDArray) => {
    let at = positions.get(tensor);
    if (at === undefined) positions.set(tensor, (at = tensors.push(tensor) - 1));
    return (results) => results[at]!;
  };
  const visit = (x: unknown): ((results: readonly NDArray[]) => unknown) => {
    if (x === null) return () => null;
    if (x instanceof IndexedSlices) {
      const [values, indices, dense] = [
        place(own(x.values)),
        place(own(x.indices)),
        x.denseShape && place(own(x.denseShape)),
      ];
      return (r) => ({ values: values(r), indices: indices(r), denseShape: dense ? dense(r) : null });
    }
    if (x instanceof SparseTensor) {
      const [indices, values, dense] = [place(own(x.indices)), place(own(x.values)), place(own(x.denseShape))];
      return (r) => new SparseTensorValue(indices(r), values(r), dense(r));
    }
    if (isFetchable(x)) {
      const parts = x[composite]().parts.map((part) => place(own(part)));
      return (r) => x[fetchedValue](parts.map((part) => part(r)));
    }
    if (isElement(x)) {
      const element = own(x);
      if (element instanceof Tensor) return place(element);
      if (!targets.includes(element)) targets.push(element);
      return () => null;
    }
    if (Array.isArray(x)) {
      const parts = x.map(visit);
      return (r) => parts.map((part) => part(r));
    }
    if (typeof x === 'object') {
      const parts = Object.entries(x).map(([key, value]) => [key, visit(value)] as const);
      const shaped = isNamedTuple(x) ? namedTuple : (record: object) => record;
      return (r) => shaped(Object.fromEntries(parts.map(([key, part]) => [key, part(r)])));
    }
    const hint = x === undefined ? ' Is a name misspelt?' : '';
    throw userError(
      `Fetch argument ${String(x)} is neither a Tensor, an Operation, a name, nor an array or record of these.${hint}`,
    );
  };
  function own(x: Parameters<Graph['asGraphElement']>[0]): Tensor & Operation;
  function own(x: Tensor): Tensor;
  function own(x: Parameters<Graph['asGraphElement']>[0]): Tensor | Operation {
    try {
      return graph.asGraphElement(x);
    } catch (error) {
      if (!(error instanceof OpError)) throw error;
      throw userError(`Fetch argument ${String(x)} cannot be interpreted as a Tensor. (${error.text})`, {
        cause: error,
      });
    }
  }
  return { assemble: visit(fetch), tensors, targets };
}

function isElement(x: unknown): x is string | Tensor | Operation | GraphElement {
  return (
    typeof x === 'string' ||
    x instanceof Tensor ||
    x instanceof Operation ||
    (typeof x === 'object' && x !== null && 'asGraphElement' in x && typeof x.asGraphElement === 'function')
  );
}
