"""Writes test/golden/io/images.json: JPEG files as TensorFlow writes them, GIF and BMP files as TensorFlow reads them."""
import base64, hashlib, io, json, os, struct
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
from PIL import Image


def text(data):
    return base64.b64encode(data).decode()


def written():
    rng = np.random.default_rng(5)
    for height, width, channels in [(1, 1, 3), (29, 37, 3), (16, 16, 3), (18, 40, 1), (7, 3, 3), (33, 17, 3)]:
        y, x, c = np.mgrid[0:height, 0:width, 0:channels]
        image = np.clip(128 + 110 * np.sin(x / (2 + c) + y / 4) + rng.normal(0, 10, x.shape), 0, 255).astype(np.uint8)
        for options in [dict(), dict(quality=30), dict(quality=0), dict(quality=100), dict(chroma_downsampling=False),
                        dict(optimize_size=True), dict(density_unit="cm", x_density=72, y_density=0x1234, xmp_metadata="<x/>")]:
            file = tf.io.encode_jpeg(image, **options).numpy()
            yield {"shape": image.shape, "pixels": text(image.tobytes()), "options": options,
                   "sha256": hashlib.sha256(file).hexdigest(), "bytes": len(file)}


def gifs():
    rng = np.random.default_rng(6)
    def frame(height, width, colours=16):
        image = Image.fromarray(rng.integers(0, colours, (height, width), dtype=np.uint8) // 2 * 2, "P")
        image.putpalette(rng.integers(0, 256, 3 * colours).tolist())
        return image
    def save(frames, **options):
        out = io.BytesIO()
        frames[0].save(out, "GIF", save_all=len(frames) > 1, append_images=frames[1:], **options)
        return out.getvalue()
    yield "one frame", save([frame(9, 13)])
    yield "interlaced", save([frame(21, 10, 200)], interlace=True)
    yield "plain", save([frame(40, 30, 256)], interlace=False)
    yield "animated", save([frame(8, 8) for _ in range(4)], interlace=0)
    yield "transparent", save([frame(8, 8) for _ in range(3)], transparency=2, disposal=1)
    base = Image.new("P", (20, 20), 1)
    base.putpalette(list(range(48)))
    moved = base.copy()
    moved.paste(3, (5, 6, 9, 12))
    yield "changed part", save([base, moved])
    yield "two colours", save([frame(5, 300, 2)])
    whole = save([frame(30, 30, 64) for _ in range(2)])
    yield "cut off", whole[:len(whole) * 3 // 4]
    yield "cut off early", whole[:300]
    yield "not closed", whole[:-1]


def bmp(bits, width, height, rng):
    row = (bits // 8 * width + 3) // 4 * 4
    header = struct.pack("<2sIHHIIiiHHIIIIII", b"BM", 54 + row * abs(height), 0, 0, 54, 40, width, height, 1, bits, 0, 0, 0, 0, 0, 0)
    return header + rng.integers(0, 256, row * abs(height), dtype=np.uint8).tobytes()


def outcome(call):
    try:
        pixels = call().numpy()
        return {"shape": pixels.shape, "sha256": hashlib.sha256(pixels.tobytes()).hexdigest()}
    except tf.errors.OpError as error:
        return {"fails": error.message.split("} ")[-1].split(" [Op:")[0]}


def main():
    rng = np.random.default_rng(8)
    gif_cases = [{"name": name, "file": text(file), "all": outcome(lambda: tf.io.decode_gif(file)),
                  "first": outcome(lambda: tf.io.decode_image(file, expand_animations=False))} for name, file in gifs()]
    bmp_cases = []
    for bits, width, height in [(8, 5, 3), (24, 5, 3), (32, 5, 3), (24, 4, -2), (8, 4, -2), (32, 1, 1), (16, 2, 2), (24, 0, 2), (24, -1, 2), (24, 2, 0)]:
        file = bmp(bits, width, height, rng)
        bmp_cases.append({"name": f"{bits} bits, {width}x{height}", "file": text(file),
                          "results": [outcome(lambda: tf.io.decode_bmp(file, channels=c)) for c in (0, 3, 4)]})
    file = bmp(24, 3, 3, rng)
    for name, data in [("cut off", file[:-1]), ("short", file[:31]), ("too long", file + b"x")]:
        bmp_cases.append({"name": name, "file": text(data), "results": [outcome(lambda: tf.io.decode_bmp(data))]})
    path = os.path.join(os.path.dirname(__file__), "../../test/golden/io/images.json")
    with open(path, "w") as out:
        json.dump({"written": list(written()), "gif": gif_cases, "bmp": bmp_cases}, out)
        out.write("\n")


main()
