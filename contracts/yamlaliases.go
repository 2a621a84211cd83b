package contracts

import "go.yaml.in/yaml/v3"

// maxValues bounds the values of a catalog with its aliases written out: each use of one is
// read anew, and a few kilobytes of them within each other can stand for any number.
const maxValues = 1 << 18

// writtenOut counts the values of n with its aliases written out, as far as one more than
// maxValues.
func writtenOut(n *yaml.Node) int {
	return (&aliasReader{sizes: map[*yaml.Node]int{}, within: map[*yaml.Node]int{}}).size(n, 0, false)
}

// aliasReader has of what aliases name the sizes, and how deep what it is within lies.
type aliasReader struct{ sizes, within map[*yaml.Node]int }

// size is that of n, of which merges tells that it is what a merge key names. What is merged lies as
// deep as the mapping that merges it: one that merges itself so adds nothing, and any other that
// holds itself has no end.
func (r *aliasReader) size(n *yaml.Node, depth int, merges bool) int {
	n = resolve(n)
	if n.Anchor != "" {
		if size, known := r.sizes[n]; known {
			return size
		}
		switch at, within := r.within[n]; {
		case within && at == depth:
			return 0
		case within:
			return maxValues + 1
		}
		r.within[n] = depth
	}
	size := 1
	for i, c := range n.Content {
		merged := merges && n.Kind == yaml.SequenceNode || n.Kind == yaml.MappingNode && i%2 == 1 && n.Content[i-1].Tag == "!!merge"
		below := depth
		if !merged {
			below++
		}
		if size += r.size(c, below, merged); size > maxValues {
			size = maxValues + 1
			break
		}
	}
	if n.Anchor != "" {
		r.sizes[n] = size
	}
	return size
}
