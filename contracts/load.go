package contracts

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// DefaultCatalogName is what faults and warnings call the embedded catalog.
const DefaultCatalogName = "default.yaml"

//go:embed default.yaml schemas
var embedded embed.FS

// DefaultCatalog returns the embedded catalog, parsed anew at each call.
func DefaultCatalog() (*Catalog, error) {
	data, err := embedded.ReadFile(DefaultCatalogName)
	if err != nil {
		return nil, fmt.Errorf("read default catalog: %w", err)
	}
	return ParseCatalog(DefaultCatalogName, data, embedded)
}

// LoadCatalog reads the catalog file at path; "" is the embedded one. Schema
// files are looked up in the file's directory, which they cannot leave, and
// then among the embedded ones, so that a printed default can be loaded
// wherever it is put. Faults of the content are a *CatalogError.
func LoadCatalog(path string) (*Catalog, error) {
	if path == "" {
		return DefaultCatalog()
	}
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("open catalog's directory: %w", err)
	}
	defer root.Close()
	// Read by path, not through root: the file itself may be a link out of its
	// directory, as in a mounted Kubernetes ConfigMap or a secret.
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read catalog: %w", err)
	}
	return ParseCatalog(path, data, layered{root.FS(), embedded})
}

// layered opens a file in the first file system that has it.
type layered []fs.FS

func (l layered) Open(name string) (fs.File, error) {
	var last error
	for _, layer := range l {
		f, err := layer.Open(name)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
		last = err
	}
	return nil, last
}
