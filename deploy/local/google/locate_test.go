package google

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLocate(t *testing.T) {
	at := newDisk(t)
	sdk := at.dir("opt/sdk/platform")
	linked := at.link("bin/gcloud", at.file("opt/sdk/bin/gcloud"))
	elsewhere := at.file("wrapper/bin/gcloud")
	home := at.dir("home/google-cloud-sdk/platform")
	java := at.file("jdk/bin/java")

	tests := []struct {
		name    string
		env     map[string]string
		path    map[string]string // commands found in PATH
		asked   string            // what gcloud info says; empty: it fails
		usual   []string
		want    Installation
		wantErr string
	}{{
		name: "the variable names the root",
		env:  map[string]string{rootVar: sdk},
		path: map[string]string{"java": "/bin/java", "gcloud": elsewhere},
		want: Installation{Root: sdk, Java: "/bin/java"},
	}, {
		name:    "a wrong variable is not passed over",
		env:     map[string]string{rootVar: at.path("nowhere")},
		path:    map[string]string{"java": "/bin/java", "gcloud": linked},
		wantErr: rootVar + "=" + at.path("nowhere"),
	}, {
		name: "gcloud lies in the root",
		path: map[string]string{"java": "/bin/java", "gcloud": linked},
		want: Installation{Root: sdk, Java: "/bin/java"},
	}, {
		name:  "gcloud lies elsewhere and is asked",
		path:  map[string]string{"java": "/bin/java", "gcloud": elsewhere},
		asked: sdk,
		want:  Installation{Root: sdk, Java: "/bin/java"},
	}, {
		name:  "a usual place",
		path:  map[string]string{"java": "/bin/java", "gcloud": elsewhere},
		usual: []string{at.path("nowhere"), sdk},
		want:  Installation{Root: sdk, Java: "/bin/java"},
	}, {
		name: "the home directory",
		env:  map[string]string{"HOME": at.path("home")},
		path: map[string]string{"java": "/bin/java"},
		want: Installation{Root: home, Java: "/bin/java"},
	}, {
		name: "JAVA_HOME comes before PATH",
		env:  map[string]string{rootVar: sdk, "JAVA_HOME": at.path("jdk")},
		path: map[string]string{"java": "/bin/java"},
		want: Installation{Root: sdk, Java: java},
	}, {
		name:    "no Java",
		env:     map[string]string{rootVar: sdk},
		wantErr: "openjdk-17-jre-headless",
	}, {
		name:    "no SDK",
		path:    map[string]string{"java": "/bin/java"},
		wantErr: "install google-cloud-cli",
	}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := locate(machine{
				getenv: func(name string) string { return tt.env[name] },
				lookPath: func(name string) (string, error) {
					if path, ok := tt.path[name]; ok {
						return path, nil
					}
					return "", errors.New("not in PATH")
				},
				askRoot: func(string) (string, error) {
					if tt.asked == "" {
						return "", errors.New("broken")
					}
					return tt.asked, nil
				},
				usual: tt.usual,
			})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("locate (-want +got):\n%s", diff)
			}
			wantError(t, err, tt.wantErr)
		})
	}
}

func TestJar(t *testing.T) {
	at := newDisk(t)
	at.file("sdk/platform/pubsub-emulator/lib/cloud-pubsub-emulator-0.8.19-all.jar")
	newest := at.file("sdk/platform/pubsub-emulator/lib/cloud-pubsub-emulator-0.8.20-all.jar")
	in := Installation{Root: at.path("sdk")}

	tests := []struct {
		name      string
		component component
		want      string
		wantErr   string
	}{{
		name: "the last of several", component: pubsubComponent, want: newest,
	}, {
		name: "a missing one names its package", component: firestoreComponent,
		wantErr: "apt-get install google-cloud-cli-firestore-emulator",
	}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := in.jar(tt.component)
			if got != tt.want {
				t.Errorf("jar = %q, want %q", got, tt.want)
			}
			wantError(t, err, tt.wantErr)
		})
	}
}

// wantError checks that err holds want; an empty want is for no error.
func wantError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("err = %v, want nil", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("err = %v, want one with %q", err, want)
	}
}

// disk is a directory to lay out files in.
type disk struct {
	t    *testing.T
	root string
}

func newDisk(t *testing.T) disk {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return disk{t: t, root: root}
}

func (d disk) path(name string) string { return filepath.Join(d.root, name) }

// dir makes a directory and returns its parent.
func (d disk) dir(name string) string {
	d.t.Helper()
	if err := os.MkdirAll(d.path(name), 0o755); err != nil {
		d.t.Fatal(err)
	}
	return filepath.Dir(d.path(name))
}

func (d disk) file(name string) string {
	d.t.Helper()
	d.dir(filepath.Dir(name))
	if err := os.WriteFile(d.path(name), nil, 0o755); err != nil {
		d.t.Fatal(err)
	}
	return d.path(name)
}

func (d disk) link(name, target string) string {
	d.t.Helper()
	d.dir(filepath.Dir(name))
	if err := os.Symlink(target, d.path(name)); err != nil {
		d.t.Fatal(err)
	}
	return d.path(name)
}
