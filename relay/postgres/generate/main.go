// The program generate writes enums.go from enums.yaml. It runs in relay/postgres.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
	"os"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"go.yaml.in/yaml/v3"
)

func main() {
	if err := run("enums.yaml", "enums.go"); err != nil {
		fmt.Fprintln(os.Stderr, "generate enums:", err)
		os.Exit(1)
	}
}

func run(from, to string) error {
	list, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	source, err := generate(list)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	return os.WriteFile(to, source, 0o644) //nolint:gosec // source code, for everybody to read
}

// enum is one of the two types.
type enum struct {
	Name   string // of the Go type
	Column string
	Values []string
}

// Constant is the name of a value's constant.
func (e enum) Constant(value string) string {
	var name strings.Builder
	for part := range strings.SplitSeq(value, "_") {
		name.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	if e.Name == "AggregateType" {
		return "Aggregate" + name.String()
	}
	return name.String()
}

var word = regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)

func generate(list []byte) ([]byte, error) {
	var values struct {
		AggregateType []string `yaml:"aggregate_type"`
		EventType     []string `yaml:"event_type"`
	}
	decoder := yaml.NewDecoder(bytes.NewReader(list))
	decoder.KnownFields(true)
	if err := decoder.Decode(&values); err != nil {
		return nil, err
	}
	enums := []enum{{"AggregateType", "aggregate_type", values.AggregateType}, {"EventType", "event_type", values.EventType}}
	var errs []error
	for _, e := range enums {
		if len(e.Values) == 0 {
			errs = append(errs, fmt.Errorf("%s has no values", e.Column))
		}
		for i, v := range e.Values {
			if !word.MatchString(v) {
				errs = append(errs, fmt.Errorf("%s %q: want small letters, words joined by _", e.Column, v))
			}
			if slices.Contains(e.Values[:i], v) {
				errs = append(errs, fmt.Errorf("%s %q is there twice", e.Column, v))
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	var source bytes.Buffer
	if err := code.Execute(&source, enums); err != nil {
		return nil, err
	}
	return format.Source(source.Bytes())
}

var code = template.Must(template.New("").Parse(`// Code generated from enums.yaml by make generate. DO NOT EDIT.

package postgres

import "slices"
{{range $e := .}}
// {{.Name}} is a value of the column {{.Column}}.
type {{.Name}} string

// The values of {{.Name}}.
const (
{{- range .Values}}
	{{$e.Constant .}} {{$e.Name}} = "{{.}}"
{{- end}}
)

var all{{.Name}}s = []{{.Name}}{
{{- range .Values}}
	{{$e.Constant .}},
{{- end}}
}

// {{.Name}}s are all values, in the order of the database.
func {{.Name}}s() []{{.Name}} { return slices.Clone(all{{.Name}}s) }

// Valid says whether it is one of {{.Name}}s.
func (v {{.Name}}) Valid() bool { return slices.Contains(all{{.Name}}s, v) }

// Parse{{.Name}} reads a value; the error for what is none says which there are.
func Parse{{.Name}}(text string) ({{.Name}}, error) { return parse("{{.Column}}", text, all{{.Name}}s) }
{{end}}`))
