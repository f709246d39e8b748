"""Writes test/golden/io/png.json: PNG files of every colour kind, depth and interlacing, and their pixels as TensorFlow decodes them."""
import base64, itertools, json, os, struct, zlib
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

PASSES = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
SAMPLES = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def pack_row(values, depth):
    if depth == 16:
        return np.asarray(values, ">u2").tobytes()
    if depth == 8:
        return bytes(values)
    bits = "".join(format(v, f"0{depth}b") for v in values)
    bits += "0" * (-len(bits) % 8)
    return bytes(int(bits[i:i + 8], 2) for i in range(0, len(bits), 8))


def paeth(a, b, c):
    p = a + b - c
    pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
    return a if pa <= pb and pa <= pc else b if pb <= pc else c


def filtered(rows, step):
    out, before = b"", bytes(len(rows[0]))
    for y, row in enumerate(rows):
        kind = y % 5
        left = bytes(step) + row[:-step] if len(row) > step else bytes(len(row))
        corner = bytes(step) + before[:-step] if len(row) > step else bytes(len(row))
        guess = [bytes(len(row)), left, before, bytes((a + b) // 2 for a, b in zip(left, before)),
                 bytes(paeth(a, b, c) for a, b, c in zip(left, before, corner))][kind]
        out += bytes([kind]) + bytes((v - g) & 255 for v, g in zip(row, guess))
        before = row
    return out


def png(rng, colour, depth, interlaced, transparent, width=11, height=9):
    count = SAMPLES[colour]
    top = min(2 ** depth, 7) if colour == 3 else 2 ** depth
    image = rng.integers(0, top, (height, width, count))
    step = max(1, count * depth // 8)
    parts = PASSES if interlaced else [(0, 0, 1, 1)]
    data = b""
    for left, up, right, down in parts:
        part = image[up::down, left::right]
        if part.size:
            data += filtered([pack_row(r.reshape(-1).tolist(), depth) for r in part], step)
    chunks = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced))
    if colour == 3:
        chunks += chunk(b"PLTE", bytes(rng.integers(0, 256, 3 * top).tolist()))
    if transparent:
        if colour == 3:
            chunks += chunk(b"tRNS", bytes(rng.integers(0, 256, top - 1).tolist()))
        else:
            chunks += chunk(b"tRNS", np.asarray(image[2, 3], ">u2").tobytes())
    packed = zlib.compress(data)
    cut = len(packed) // 2
    chunks += chunk(b"tEXt", b"Comment\0two parts") + chunk(b"IDAT", packed[:cut]) + chunk(b"IDAT", packed[cut:])
    return b"\x89PNG\r\n\x1a\n" + chunks + chunk(b"IEND", b"")


def main():
    rng = np.random.default_rng(7)
    depths = {0: [1, 2, 4, 8, 16], 2: [8, 16], 3: [1, 2, 4, 8], 4: [8, 16], 6: [8, 16]}
    cases = []
    for colour, interlaced, transparent in itertools.product(depths, [0, 1], [0, 1]):
        if transparent and colour in (4, 6):
            continue
        for depth in depths[colour]:
            file = png(rng, colour, depth, interlaced, transparent)
            results = {}
            for channels, dtype in itertools.product(range(5), [tf.uint8, tf.uint16]):
                if channels == 2:
                    continue  # the op admits 0, 1, 3 and 4
                pixels = tf.io.decode_png(file, channels=channels, dtype=dtype).numpy()
                results[f"{channels} {dtype.name}"] = {
                    "channels": pixels.shape[-1],
                    "data": base64.b64encode(pixels.astype(pixels.dtype.newbyteorder("<")).tobytes()).decode(),
                }
            cases.append({"colour": colour, "depth": depth, "interlaced": interlaced, "transparent": transparent,
                          "file": base64.b64encode(file).decode(), "results": results})
    path = os.path.join(os.path.dirname(__file__), "../../test/golden/io/png.json")
    with open(path, "w") as out:
        json.dump({"width": 11, "height": 9, "cases": cases}, out)
        out.write("\n")


main()
