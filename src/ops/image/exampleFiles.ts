/** @file Tiny image files for the cases of the ops that read and write them. */

const fromBase64 = (text: string) => new Uint8Array(Buffer.from(text, 'base64'));

/** A PNG file of one row with the greys 10 and 200, written without compression. */
export const grey = fromBase64(
  'iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAAAAADRSSBWAAAADklEQVR4AQEDAPz/AArIAN8A0z63Gi4AAAAASUVORK5CYII=',
);

/** A JPEG file of the greys 20, 120 above 220, 20, of quality 95; decoded it has 23, 122, 220, 22. */
export const small = fromBase64(
  [
    '/9j/4AAQSkZJRgABAQEBLAEsAAD/2wBDAAIBAQEBAQIBAQECAgICAgQDAgICAgUEBAMEBgUGBgYFBgYGBwkIBgcJBwYGCAsICQoKCgoKBggLDAsKDAkKCgr',
    '/wAALCAACAAIBAREA/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBka',
    'EII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6i',
    'pqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/9oACAEBAAA/APzS/bi+K/xS+G/7anxg+Hfw7+JWv6B4f0D4o+INO0LQ',
    'tF1me1s9Os4NSnihtoIYmVIYo41VEjQBVVQAAABX/9k=',
  ].join(''),
);

/** A GIF file of two frames with one pixel each: 9, 8, 7 and 1, 2, 3. */
export const animation = fromBase64('R0lGODlhAQABAIAAAAkIBwECAywAAAAAAQABAAACAkQBACwAAAAAAQABAAACAkwBADs=');
