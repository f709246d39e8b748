"""Writes test/golden/io/jpeg.json: JPEG files of several kinds, and their pixels as TensorFlow decodes them."""
import base64, hashlib, io, json, os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
from PIL import Image


def picture(rng, height, width, channels):
    y, x = np.mgrid[0:height, 0:width]
    waves = [128 + 100 * np.sin(x / (3 + c) + y / (5 - c)) + rng.normal(0, 12, (height, width)) for c in range(channels)]
    return np.clip(np.stack(waves, -1), 0, 255).astype(np.uint8)


def jpeg(pixels, mode, **options):
    out = io.BytesIO()
    Image.fromarray(pixels[..., 0] if mode == "L" else pixels, mode).save(out, "JPEG", **options)
    return out.getvalue()


def main():
    rng = np.random.default_rng(3)
    files = {}
    for height, width in [(29, 37), (16, 32), (3, 5), (1, 1), (50, 18)]:
        rgb = picture(rng, height, width, 3)
        for subsampling in (0, 1, 2):
            for progressive in (False, True):
                files[f"{width}x{height} {['4:4:4', '4:2:2', '4:2:0'][subsampling]}{' progressive' if progressive else ''}"] = jpeg(
                    rgb, "RGB", quality=80, subsampling=subsampling, progressive=progressive)
    rgb = picture(rng, 40, 45, 3)
    files["grey"] = jpeg(rgb, "L", quality=70)
    files["grey progressive"] = jpeg(rgb, "L", quality=70, progressive=True)
    files["restarts"] = jpeg(rgb, "RGB", quality=90, restart_marker_blocks=2)
    files["restarts progressive"] = jpeg(rgb, "RGB", quality=90, restart_marker_rows=1, progressive=True)
    files["optimized low quality"] = jpeg(rgb, "RGB", quality=5, optimize=True)
    files["best quality"] = jpeg(rgb, "RGB", quality=100, subsampling=0)
    files["kept as RGB"] = jpeg(rgb, "RGB", quality=90, keep_rgb=True)
    files["CMYK"] = jpeg(picture(rng, 20, 24, 4), "CMYK", quality=90)
    cases = []
    for name, file in files.items():
        results = []
        asked = [dict(), dict(channels=1), dict(channels=3), dict(dct_method="INTEGER_ACCURATE"), dict(fancy_upscaling=False),
                 dict(ratio=2), dict(ratio=4), dict(ratio=8), dict(ratio=2, fancy_upscaling=False)]
        for options in asked:
            try:
                pixels = tf.io.decode_jpeg(file, **options).numpy()
            except tf.errors.InvalidArgumentError:
                results.append({"options": options, "fails": True})
                continue
            results.append({"options": options, "shape": pixels.shape, "sha256": hashlib.sha256(pixels.tobytes()).hexdigest()})
        cases.append({"name": name, "file": base64.b64encode(file).decode(), "results": results})
    path = os.path.join(os.path.dirname(__file__), "../../test/golden/io/jpeg.json")
    with open(path, "w") as out:
        json.dump(cases, out)
        out.write("\n")


main()
