// Command extract writes the schema files of the types that the configuration
// uses, from a checkout of the provider's repository:
//
//	git clone --depth 1 --branch v7.45.0 https://github.com/hashicorp/terraform-provider-google
//	go run ./deploy/terraform/schema/extract -checkout terraform-provider-google -version 7.45.0 -commit COMMIT -dir deploy/terraform
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"outboxrelay/deploy/terraform/schema"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "extract:", err)
		os.Exit(1)
	}
}

func run() error {
	var (
		checkout = flag.String("checkout", "", "directory of the provider's repository")
		version  = flag.String("version", "", "version that it is at")
		commit   = flag.String("commit", "", "commit that it is at")
		dir      = flag.String("dir", ".", "directory of the configuration")
	)
	flag.Parse()
	if *checkout == "" || *version == "" || *commit == "" {
		return errors.New("give -checkout, -version and -commit")
	}
	types, err := used(*dir)
	if err != nil {
		return err
	}
	for _, t := range types {
		r := &schema.Resource{Kind: t.kind, Type: t.name, Provider: "hashicorp/google " + *version, Commit: *commit}
		page, err := document(*checkout, r)
		if err != nil {
			return err
		}
		if err := r.Parse(page); err != nil {
			return err
		}
		data, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return fmt.Errorf("encode %s: %w", r.Type, err)
		}
		file := filepath.Join(*dir, "schema", schema.FileName(t.kind, t.name))
		if err := os.WriteFile(file, append(data, '\n'), 0o644); err != nil { //nolint:gosec // a file of the repository
			return fmt.Errorf("write schema file: %w", err)
		}
	}
	return nil
}

// document reads the page of a type.
func document(checkout string, r *schema.Resource) (string, error) {
	var missing error
	for _, name := range schema.Documents(r.Kind, r.Type) {
		data, err := os.ReadFile(filepath.Join(checkout, name))
		if errors.Is(err, fs.ErrNotExist) {
			missing = err
			continue
		}
		if err != nil {
			return "", fmt.Errorf("read document of %s: %w", r.Type, err)
		}
		r.Document = name
		return string(data), nil
	}
	return "", fmt.Errorf("find document of %s: %w", r.Type, missing)
}

type named struct{ kind, name string }

var declaration = regexp.MustCompile(`(?m)^(resource|data) "(google_[a-z0-9_]+)"`)

// used lists the types of the provider in the configuration of dir.
func used(dir string) ([]named, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.tf"))
	if err != nil {
		return nil, fmt.Errorf("list configuration: %w", err)
	}
	var out []named
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read configuration: %w", err)
		}
		for _, m := range declaration.FindAllStringSubmatch(string(data), -1) {
			out = append(out, named{m[1], m[2]})
		}
	}
	slices.SortFunc(out, func(a, b named) int { return strings.Compare(a.kind+a.name, b.kind+b.name) })
	return slices.Compact(out), nil
}
