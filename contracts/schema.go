package contracts

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaScheme starts the URL of every schema file. References between files
// resolve within it, so that compiling never reaches the network or a file
// outside the catalog's directory.
const schemaScheme = "catalog:///"

// schemaSet compiles the schema files of one catalog, each once.
type schemaSet struct {
	files    fs.FS
	compiler *jsonschema.Compiler
	read     map[string][]byte // by path, as they were
}

func newSchemaSet(files fs.FS) *schemaSet {
	s := &schemaSet{files: files, compiler: jsonschema.NewCompiler(), read: make(map[string][]byte)}
	s.compiler.DefaultDraft(jsonschema.Draft2020)
	s.compiler.UseLoader(s)
	return s
}

// Load makes schemaSet the compiler's loader.
func (s *schemaSet) Load(url string) (any, error) {
	name, ok := strings.CutPrefix(url, schemaScheme)
	if !ok {
		return nil, errors.New("a reference leaves the catalog's directory")
	}
	f, err := s.files.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read from
	data, err := io.ReadAll(io.LimitReader(f, maxCatalogBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxCatalogBytes {
		return nil, errors.New("it is larger than 1 MiB")
	}
	if !utf8.Valid(data) { // which would be read as U+FFFD
		return nil, errors.New("it is not valid UTF-8")
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("read JSON: %w", err)
	}
	if err := StrictJSON(data); err != nil {
		return nil, err
	}
	s.read[name] = data
	return doc, nil
}

// compile returns the schema in file name, a path below the catalog's
// directory.
func (s *schemaSet) compile(name string) (*jsonschema.Schema, error) {
	if s.files == nil {
		return nil, errors.New("no schema files are at hand")
	}
	if !fs.ValidPath(name) || name == "." || strings.ContainsAny(name, "%?#") {
		return nil, errors.New("not a path below the catalog's directory")
	}
	sch, err := s.compiler.Compile(schemaScheme + name)
	if err == nil {
		return sch, nil
	}
	var invalid *jsonschema.SchemaValidationError
	var load *jsonschema.LoadURLError
	switch {
	case errors.As(err, &invalid):
		return nil, notASchema(invalid.Err)
	case errors.As(err, &load):
		return nil, fmt.Errorf("load %s: %w", strings.TrimPrefix(load.URL, schemaScheme), load.Err)
	}
	return nil, errors.New(oneLine(strings.ReplaceAll(err.Error(), schemaScheme, "")))
}

// notASchema says at which places err, of the meta-schema, found a fault.
func notASchema(err error) error {
	violation, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return fmt.Errorf("not a JSON Schema: %s", oneLine(err.Error()))
	}
	var places []string
	var walk func(*jsonschema.ValidationError)
	walk = func(v *jsonschema.ValidationError) {
		for _, cause := range v.Causes {
			walk(cause)
		}
		if len(v.Causes) == 0 {
			places = append(places, "/"+strings.Join(v.InstanceLocation, "/"))
		}
	}
	walk(violation)
	slices.Sort(places)
	return fmt.Errorf("not a JSON Schema at %s", strings.Join(slices.Compact(places), ", "))
}

// oneLine folds the lines of s, so that a fault stays on its own line.
func oneLine(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, " ")
}
