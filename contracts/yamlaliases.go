package contracts

import "go.yaml.in/yaml/v3"

// maxValues bounds the values of a catalog with its aliases written out: each use of one is
// read anew, and a few kilobytes of them within each other can stand for any number.
const maxValues = 1 << 18

// writtenOut counts the values of n with its aliases written out, as far as one more than
// maxValues. sizes has those of what aliases name, and starts empty.
func writtenOut(n *yaml.Node, sizes map[*yaml.Node]int) int {
	n = resolve(n)
	if n.Anchor != "" {
		if size, known := sizes[n]; known {
			return size
		}
		sizes[n] = 0 // what holds itself adds nothing
	}
	size := 1
	for _, c := range n.Content {
		if size += writtenOut(c, sizes); size > maxValues {
			size = maxValues + 1
			break
		}
	}
	if n.Anchor != "" {
		sizes[n] = size
	}
	return size
}
