"use strict";

// Images that are dropped on the form, or chosen with its button, become inputs of the chosen
// signature: pixels for a tensor of numbers that has the shape of images, and the file itself
// for a scalar string, as models that decode images take it.

// imageInput returns the input of a signature that images fit, and how: {name, file: true} or
// {name, height, width, channels, flat, whole}. It returns undefined if there is none.
function imageInput(s) {
  for (const t of s.inputs) {
    const shape = t.shape && t.shape.slice(1);
    if (!shape) continue;
    if (/string/.test(t.dtype)) {
      if (shape.length === 0) return { name: t.name, file: true };
      continue;
    }
    const whole = /int/.test(t.dtype);
    const [height, width] = shape.map((n) => (n < 0 ? 224 : n));
    if (shape.length === 3 && (shape[2] === 1 || shape[2] === 3)) return { name: t.name, height, width, channels: shape[2], whole };
    if (shape.length === 2) return { name: t.name, height, width, channels: 0, whole };
    const side = Math.sqrt(shape[0]);
    if (shape.length === 1 && side >= 4 && Number.isInteger(side)) return { name: t.name, height: side, width: side, channels: 0, flat: true, whole };
  }
  return undefined;
}

// pixelsOf returns the pixels of an image file as an input takes them, scaled to its size.
async function pixelsOf(file, input, scale) {
  const bitmap = await createImageBitmap(file);
  const canvas = document.createElement("canvas");
  canvas.width = input.width;
  canvas.height = input.height;
  const context = canvas.getContext("2d");
  context.drawImage(bitmap, 0, 0, input.width, input.height);
  const data = context.getImageData(0, 0, input.width, input.height).data;
  const value = (v) => {
    if (input.whole || scale === "255") return Math.round(v);
    return Number((scale === "-1" ? v / 127.5 - 1 : v / 255).toFixed(4));
  };
  const pixel = (i) => {
    const rgb = [data[4 * i], data[4 * i + 1], data[4 * i + 2]];
    const gray = 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2];
    if (input.channels === 3) return rgb.map(value);
    return input.channels === 1 ? [value(gray)] : value(gray);
  };
  const rows = Array.from({ length: input.height }, (_, y) => Array.from({ length: input.width }, (_, x) => pixel(y * input.width + x)));
  return input.flat ? rows.flat() : rows;
}

// base64Of returns the bytes of a file as the server takes them.
async function base64Of(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (const b of bytes) text += String.fromCharCode(b);
  return { b64: btoa(text) };
}

// takeImages puts images into the body of the form.
async function takeImages(files) {
  const s = chosenSignature();
  const input = s && imageInput(s);
  if (!input) {
    outcome(false, "This signature has no input for images: [?, height, width, 1 or 3], or a string");
    return;
  }
  try {
    const rows = [];
    for (const file of files) {
      const value = await (input.file ? base64Of(file) : pixelsOf(file, input, at("pixels").value));
      rows.push(s.inputs.length === 1 ? value : { [input.name]: value });
    }
    const body = s.key === "serving_default" ? {} : { signature_name: s.key };
    body.instances = rows;
    at("body").value = JSON.stringify(body);
    outcome(true, rows.length === 1 ? "The image is in the body" : rows.length + " images are in the body");
  } catch (e) {
    outcome(false, "The file is not an image that the browser can read");
  }
}

at("body").addEventListener("dragover", (e) => {
  if ([...e.dataTransfer.types].includes("Files")) e.preventDefault();
});
at("body").addEventListener("drop", (e) => {
  if (!e.dataTransfer.files.length) return;
  e.preventDefault();
  takeImages([...e.dataTransfer.files]);
});
at("images").addEventListener("change", () => takeImages([...at("images").files]));
