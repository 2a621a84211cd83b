package schema

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	item    = regexp.MustCompile("^ ?\\* `([a-z0-9_/]+)`(.*)")
	heading = regexp.MustCompile("^(?:<a name=\"(nested_[a-z0-9_]+)\"></a>)?The `([a-z0-9_]+)` block (?:supports|contains)")
	anchor  = regexp.MustCompile(`\(#(nested_[a-z0-9_]+)\)`)
)

// entry is one argument of a page, with all that is said of it.
type entry struct {
	name string
	text string
}

// Parse fills in what a page of the provider's documentation says of r.Type.
func (r *Resource) Parse(page string) error {
	introduction, reference, ok := strings.Cut(page, "\n## Argument")
	if !ok {
		return fmt.Errorf("document of %s: no argument reference", r.Type)
	}
	r.Beta = strings.Contains(introduction, "should be used with the terraform-provider-google-beta provider")
	arguments, rest, _ := strings.Cut(reference, "\n## ")
	blocks := entries(arguments)
	root, err := body(r.Type, "", blocks, nil)
	if err != nil {
		return fmt.Errorf("document of %s: %w", r.Type, err)
	}
	var attributes []string
	if strings.HasPrefix(rest, "Attribute") {
		computed, _, _ := strings.Cut(rest, "\n## ")
		for _, e := range entries(computed)[""] {
			attributes = append(attributes, e.name)
		}
	}
	for _, e := range blocks[""] {
		if strings.Contains(e.text, "(Output)") {
			attributes = append(attributes, e.name)
		}
	}
	slices.Sort(attributes)
	r.Body, r.Attributes = *root, slices.Compact(attributes)
	return nil
}

// entries takes a reference apart by the block that its list is of, which is known
// by its anchor, or by its name on older pages. The resource's own is "".
func entries(reference string) map[string][]entry {
	out := map[string][]entry{}
	at := ""
	for line := range strings.Lines(reference) {
		if strings.HasPrefix(line, "- - -") {
			at = ""
		}
		if m := heading.FindStringSubmatch(line); m != nil {
			if at = m[1]; at == "" {
				at = named(m[2])
			}
			continue
		}
		if m := item.FindStringSubmatch(line); m != nil {
			out[at] = append(out[at], entry{m[1], m[2] + "\n"})
			continue
		}
		if n := len(out[at]); n > 0 {
			out[at][n-1].text += line
		}
	}
	return out
}

// named is what entries calls a block without an anchor.
func named(block string) string { return "block " + block }

func body(typ, at string, blocks map[string][]entry, within []string) (*Body, error) {
	if slices.Contains(within, at) {
		return nil, fmt.Errorf("block %s holds itself", at)
	}
	within = append(within, at)
	if len(blocks[at]) == 0 && at != "" {
		return &Body{}, nil // such as an empty block that only has to be there
	}
	out := &Body{}
	for _, e := range blocks[at] {
		name, required := e.name, strings.Contains(e.text, "(Required")
		switch {
		case name == "member/members":
			if name = "member"; strings.HasSuffix(typ, "_binding") {
				name = "members"
			}
		case strings.Contains(e.text, "(Required only by"), strings.Contains(e.text, "(Output)"):
			continue
		}
		below := named(name)
		if m := anchor.FindStringSubmatch(e.text); m != nil {
			below = m[1]
		}
		if len(blocks[below]) > 0 || strings.Contains(strings.ToLower(e.text), "documented below") {
			inner, err := body(typ, below, blocks, within)
			if err != nil {
				return nil, err
			}
			if out.Blocks == nil {
				out.Blocks = map[string]*Body{}
			}
			out.Blocks[name] = inner
			if required {
				out.Needs = append(out.Needs, name)
			}
			continue
		}
		if required {
			out.Required = append(out.Required, name)
		} else {
			out.Optional = append(out.Optional, name)
		}
	}
	slices.Sort(out.Required)
	slices.Sort(out.Optional)
	slices.Sort(out.Needs)
	return out, nil
}
