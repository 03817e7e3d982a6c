// Changes what is shown into what it should be, in place: what stays keeps its focus, its selection and the press on it.

const HANDLERS = ["onclick", "onchange", "onkeydown"];

// Whether one can become the other. What has a `same` stays as the person left it (opened, chosen) while that is equal.
const fits = (old, node) => old.nodeName === node.nodeName && old.id === node.id && old.same === node.same
  && old.dataset?.key === node.dataset?.key;
const alike = (old, node) => fits(old, node) && old.isEqualNode(node);

// Shows a node in place of another, by changing that one if they are of a kind.
export function replace(old, node) {
  if (fits(old, node)) patch(old, node);
  else old.replaceWith(node);
}

function patch(old, node) {
  if (old.nodeType === Node.TEXT_NODE) patchText(old, node.data);
  if (old.nodeType !== Node.ELEMENT_NODE || node.same !== undefined) return;
  patchAttributes(old, node);
  for (const name of HANDLERS) old[name] = node[name];
  patchChildren(old, [...node.childNodes]);
}

// What is alike at the beginning and at the end stays where it is; between them each takes the first that fits.
export function patchChildren(parent, wanted) {
  const old = [...parent.childNodes];
  let end = null;
  while (old.length && wanted.length && alike(old[0], wanted[0])) patch(old.shift(), wanted.shift());
  while (old.length && wanted.length && alike(old.at(-1), wanted.at(-1))) {
    end = old.pop();
    patch(end, wanted.pop());
  }
  let next = old[0] ?? end;
  for (const node of wanted) {
    const one = old.find((each) => fits(each, node));
    if (one) {
      old.splice(old.indexOf(one), 1);
      patch(one, node);
    }
    if (one && one === next) next = one.nextSibling;
    else parent.insertBefore(one ?? node, next);
  }
  for (const one of old) one.remove();
}

function patchAttributes(old, node) {
  for (const { name } of [...old.attributes]) if (!node.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of node.attributes) {
    if (name === "style") old.style.cssText = node.style.cssText; // the page's policy allows no style as an attribute
    else if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
}

// Only what differs is replaced, so that a selection before and after it stays.
function patchText(old, text) {
  const { data } = old;
  const most = Math.min(data.length, text.length);
  let [head, tail] = [0, 0];
  while (head < most && data[head] === text[head]) head += 1;
  while (tail < most - head && data.at(-1 - tail) === text.at(-1 - tail)) tail += 1;
  if (head < Math.max(data.length, text.length)) old.replaceData(head, data.length - head - tail, text.slice(head, text.length - tail));
}
