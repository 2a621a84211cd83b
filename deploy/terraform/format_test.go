package terraform_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/hcl/v2/hclwrite"
)

// TestFilesAreFormatted: the layout is that of HCL's own formatter, which is most of
// what terraform fmt does.
func TestFilesAreFormatted(t *testing.T) {
	for _, pattern := range []string{"*.tf", "*/*.tftest.hcl", "*.tfvars.example"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("found %d files %s: %v", len(files), pattern, err)
		}
		for _, name := range files {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(data, hclwrite.Format(data)) {
				t.Errorf("%s is not formatted; run terraform fmt -recursive", name)
			}
		}
	}
}

// TestTerraformFormatsNothing: terraform fmt finds nothing to do.
func TestTerraformFormatsNothing(t *testing.T) {
	terraform := installed(t)
	terraform(".", "fmt", "-check", "-recursive", "-diff")
}
