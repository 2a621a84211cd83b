package terraform_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"outboxrelay/deploy/local/thorough"
)

// inputCases is a file of Terraform's own test format. It is evaluated here, where
// no Terraform is needed, and by Terraform where that is installed.
const inputCases = "testdata/inputs.tftest.hcl"

// TestInputsAreValidated: each run of the file is taken, or refused for the variable
// that it names and no other.
func TestInputsAreValidated(t *testing.T) {
	c := load(t)
	base, runs := readCases(t)
	refused := map[string]bool{}
	for _, run := range runs {
		t.Run(run.Labels[0], func(t *testing.T) {
			given := maps.Clone(base)
			for _, b := range blocksOf(run, "variables") {
				maps.Copy(given, assignments(t, b.Body))
			}
			var want []string
			if a, ok := run.Body.Attributes["expect_failures"]; ok {
				for _, traversal := range hclsyntax.Variables(a.Expr) {
					name, _ := step(traversal, 1)
					want = append(want, name)
				}
			}
			got := c.refusals(t, given)
			if diff := cmp.Diff(want, slices.Sorted(maps.Keys(got))); diff != "" {
				t.Errorf("variables that are refused (-want +got):\n%s\n%v", diff, got)
			}
			for _, name := range want {
				refused[name] = true
			}
		})
	}
	for name, b := range c.variables {
		if len(blocksOf(b, "validation")) > 0 && !refused[name] {
			t.Errorf("%s has no case in which variable %s is refused", inputCases, name)
		}
	}
}

// refusals tells for each variable that is refused why.
func (c config) refusals(t *testing.T, given map[string]cty.Value) map[string]string {
	t.Helper()
	ctx := &hcl.EvalContext{Functions: functions(), Variables: map[string]cty.Value{"var": cty.ObjectVal(c.inputs(t, given))}}
	out := map[string]string{}
	for name, b := range c.variables {
		for _, v := range blocksOf(b, "validation") {
			ok, diags := v.Body.Attributes["condition"].Expr.Value(ctx)
			if diags.HasErrors() {
				t.Fatalf("validation of %s: %v", name, diags)
			}
			if ok.False() {
				message, diags := v.Body.Attributes["error_message"].Expr.Value(ctx)
				if diags.HasErrors() {
					t.Fatalf("validation of %s: %v", name, diags)
				}
				out[name] += message.AsString() + " "
			}
		}
	}
	return out
}

func readCases(t *testing.T) (base map[string]cty.Value, runs []*hclsyntax.Block) {
	t.Helper()
	file, diags := hclparse.NewParser().ParseHCLFile(inputCases)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for _, b := range file.Body.(*hclsyntax.Body).Blocks {
		switch b.Type {
		case "variables":
			base = assignments(t, b.Body)
		case "run":
			runs = append(runs, b)
		}
	}
	return base, runs
}

// TestExampleIsTaken: terraform.tfvars.example gives what is required, and every
// topic that it subscribes to is there.
func TestExampleIsTaken(t *testing.T) {
	c := load(t)
	file, diags := hclparse.NewParser().ParseHCLFile("terraform.tfvars.example")
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	example := assignments(t, file.Body.(*hclsyntax.Body))
	for name := range example {
		if c.variables[name] == nil {
			t.Errorf("the example sets %s, which is no variable", name)
		}
	}
	if archive := example["image_archive"].AsString(); filepath.Base(archive) != "outbox-relay-image.tar" {
		t.Errorf("the image's archive is %s, want that of make image", archive)
	}
	example["image_archive"] = cty.StringVal("requirements.json") // any file that is there
	if got := c.refusals(t, example); len(got) > 0 {
		t.Errorf("the example is refused: %v", got)
	}
	c.plan(t, example)
}

// TestTerraformValidatesInputs: Terraform itself says the same of every case. The
// variables alone need no provider.
func TestTerraformValidatesInputs(t *testing.T) {
	thorough.Long(t)
	terraform := installed(t)
	dir := t.TempDir()
	for from, to := range map[string]string{"variables.tf": "variables.tf", "requirements.json": "requirements.json", inputCases: "tests/inputs.tftest.hcl"} {
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, to)), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, to), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, runs := readCases(t)
	terraform(dir, "init", "-backend=false", "-no-color")
	out := terraform(dir, "test", "-no-color")
	if passed := strings.Count(out, "... pass\n") - 1; passed != len(runs) {
		t.Errorf("%d of %d cases passed:\n%s", passed, len(runs), out)
	}
}

// installed runs Terraform in a directory, and skips the test where it is missing.
func installed(t *testing.T) func(dir string, args ...string) string {
	t.Helper()
	program, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("terraform is not installed")
	}
	return func(dir string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "CHECKPOINT_DISABLE=1", "TF_CLI_CONFIG_FILE="+os.DevNull, "TF_IN_AUTOMATION=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("terraform %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
}
