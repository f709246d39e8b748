/** @file The heavy parts of writing JPEG files by the native library, beside the event loop. */
import { ResourceExhaustedError } from '../../core/errors.ts';
import type { JpegWork, ScanPlan } from '../jpegEncode.ts';
import { nativeFamily } from '../native.ts';
import { SymbolCounter } from './jpegBits.ts';
import { unfilled } from './pixels.ts';

/** What is done beside the event loop, or undefined where there is no library. */
export const nativeJpegWork = nativeFamily(({ later, address }): JpegWork | null => {
  if (process.env['TENSORLOOM_IMAGES'] === 'typescript') return null;
  const transform = later('int32_t tl_jpeg_transform(int64_t pixels, int64_t options, int64_t table, int64_t out)');
  const scan = later(
    'int64_t tl_jpeg_scan(int64_t plan, int64_t codes, int64_t frequencies, int64_t out, int64_t room)',
  );
  /** A scan as the library reads it. The coefficients are held by who waits for the scan. */
  const packed = ({ components, first, last, unitsAcross, unitsDown }: ScanPlan) =>
    Float64Array.of(
      ...[components.length, first, last, unitsAcross, unitsDown, 0],
      ...components.flatMap((c) => [
        ...[address(c.coefficients), c.sampling, c.across, c.ownAcross, c.ownDown, c.tables],
      ]),
    );
  return {
    components: ({ width, height, channels, data }, plans) =>
      Promise.all(
        plans.map(async (plan) => {
          const { channel, sampling, most, ownAcross, ownDown, across, down, quantization } = plan;
          const coefficients = new Int16Array(across * down * 64);
          const sizes = Int32Array.of(
            ...[width, height, channels, channel, sampling, most, ownAcross, ownDown, across, down],
          );
          if ((await transform(data, sizes, quantization, coefficients)) !== 0)
            throw new ResourceExhaustedError('There is no memory to encode an image.');
          return { ...plan, coefficients };
        }),
      ),
    async count(plan) {
      const frequencies = new Int32Array(4 * 257);
      await scan(packed(plan), 0, frequencies, 0, 0);
      return new SymbolCounter([0, 1, 2, 3].map((table) => frequencies.subarray(257 * table, 257 * (table + 1))));
    },
    async write(out, plan) {
      const codes = out.packedCodes();
      const blocks = plan.components.reduce((sum, c) => sum + c.across * c.down, 0);
      // A coefficient takes a byte or less in most files, and eight at most.
      for (let room = 64 * blocks + 1024; ; room *= 4) {
        const bytes = unfilled(room);
        const length = await scan(packed(plan), codes, 0, bytes, room);
        if (length < 0) continue;
        out.append(bytes.subarray(0, length));
        return;
      }
    },
  };
});
