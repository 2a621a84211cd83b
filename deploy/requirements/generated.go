package requirements

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"outboxrelay/contracts"
)

// Generated returns the files that are made from the built-in catalog, by their
// path from this directory.
func Generated() (map[string][]byte, error) {
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		return nil, fmt.Errorf("load the built-in catalog: %w", err)
	}
	r := Of(catalog)
	var indexes, all bytes.Buffer
	if err := r.WriteIndexes(&indexes); err != nil {
		return nil, fmt.Errorf("render indexes: %w", err)
	}
	if err := r.Write(&all); err != nil {
		return nil, fmt.Errorf("render requirements: %w", err)
	}
	return map[string][]byte{
		"../firestore/firestore.indexes.json": indexes.Bytes(),
		"../terraform/requirements.json":      all.Bytes(),
	}, nil
}

// Write writes everything, as Terraform reads it.
func (r *Requirements) Write(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}
