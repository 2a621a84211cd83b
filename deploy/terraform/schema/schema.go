// Package schema knows which arguments the resources of Terraform's Google
// provider take: from the provider's own documentation, kept here as small files,
// so that the configuration is checked against them without the provider.
package schema

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Resource is a resource type or a data source.
type Resource struct {
	Type       string   `json:"type"`           // such as google_pubsub_topic
	Kind       string   `json:"kind"`           // resource or data
	Provider   string   `json:"provider"`       // with the version of the documentation
	Commit     string   `json:"commit"`         // of the provider's repository
	Document   string   `json:"document"`       // in it
	Beta       bool     `json:"beta,omitempty"` // it is in the provider google-beta alone
	Body       Body     `json:"body"`
	Attributes []string `json:"attributes"` // that are computed
}

// Body is what stands between the braces of a resource or of a block in it.
type Body struct {
	Required []string         `json:"required,omitempty"`
	Optional []string         `json:"optional,omitempty"`
	Blocks   map[string]*Body `json:"blocks,omitempty"`         // required and optional ones
	Needs    []string         `json:"requiredBlocks,omitempty"` // those of Blocks that are required
}

// Takes tells whether name is an argument.
func (b *Body) Takes(name string) bool {
	return slices.Contains(b.Required, name) || slices.Contains(b.Optional, name)
}

// Has tells whether a reference to the resource may go on with name.
func (r *Resource) Has(name string) bool {
	_, block := r.Body.Blocks[name]
	return block || name == "id" || r.Body.Takes(name) || slices.Contains(r.Attributes, name)
}

// Load reads all files of a directory. The keys are "resource TYPE" and "data
// TYPE".
func Load(dir fs.FS) (map[string]*Resource, error) {
	names, err := fs.Glob(dir, "*.json")
	if err != nil {
		return nil, fmt.Errorf("list schema files: %w", err)
	}
	out := map[string]*Resource{}
	for _, name := range names {
		data, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, fmt.Errorf("read schema file: %w", err)
		}
		var r Resource
		if err := json.Unmarshal(data, &r); err != nil {
			return nil, fmt.Errorf("decode schema file %s: %w", name, err)
		}
		out[r.Kind+" "+r.Type] = &r
	}
	return out, nil
}

// FileName is where a resource is kept.
func FileName(kind, typ string) string {
	if kind == "data" {
		return "data." + typ + ".json"
	}
	return typ + ".json"
}

// Documents lists where the provider's repository may document a type, likeliest
// first. The three ways to grant a role share a page.
func Documents(kind, typ string) []string {
	dir := "website/docs/r"
	if kind == "data" {
		dir = "website/docs/d"
	}
	for _, grant := range []string{"_iam_member", "_iam_binding", "_iam_policy"} {
		if stem, ok := strings.CutSuffix(typ, grant); ok {
			typ = stem + "_iam"
		}
	}
	short := strings.TrimPrefix(typ, "google_")
	return []string{path.Join(dir, short+".html.markdown"), path.Join(dir, typ+".html.markdown")}
}
