package google

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// rootVar names the Cloud SDK's root; the SDK's own scripts read it too.
const rootVar = "CLOUDSDK_ROOT_DIR"

// wellKnownRoots are where packages and the archive's installer put the SDK.
var wellKnownRoots = []string{
	"/usr/lib/google-cloud-sdk",
	"/usr/share/google-cloud-sdk",
	"/opt/google-cloud-sdk",
	"/snap/google-cloud-cli/current",
}

// Installation is where the emulators and their Java are.
type Installation struct {
	Root string // the Cloud SDK's directory
	Java string // the java command's path
}

// Locate finds Java and the Cloud SDK: the directory that CLOUDSDK_ROOT_DIR
// names, the one that the gcloud command lies in or reports, or a usual place.
// Whether an emulator is installed there shows when it is started.
func Locate(ctx context.Context) (Installation, error) {
	return locate(machine{
		getenv:   os.Getenv,
		lookPath: exec.LookPath,
		askRoot:  func(gcloud string) (string, error) { return askRoot(ctx, gcloud) },
		usual:    wellKnownRoots,
	})
}

// machine is what locate asks of the system.
type machine struct {
	getenv   func(string) string
	lookPath func(string) (string, error)
	askRoot  func(gcloud string) (string, error)
	usual    []string
}

func locate(m machine) (Installation, error) {
	java, err := locateJava(m)
	if err != nil {
		return Installation{}, err
	}
	root, err := locateRoot(m)
	if err != nil {
		return Installation{}, err
	}
	return Installation{Root: root, Java: java}, nil
}

func locateJava(m machine) (string, error) {
	if home := m.getenv("JAVA_HOME"); home != "" {
		if java := filepath.Join(home, "bin", "java"); isFile(java) {
			return java, nil
		}
	}
	java, err := m.lookPath("java")
	if err != nil {
		return "", fmt.Errorf("locate java: %w: install Java 17 (Debian: apt-get install openjdk-17-jre-headless)", err)
	}
	return java, nil
}

func locateRoot(m machine) (string, error) {
	if root := m.getenv(rootVar); root != "" {
		if !hasPlatform(root) {
			return "", fmt.Errorf("locate Cloud SDK: %s=%s holds no platform directory", rootVar, root)
		}
		return root, nil
	}
	if gcloud, err := m.lookPath("gcloud"); err == nil {
		// The command lies in ROOT/bin. Asking it takes half a second and comes second.
		if target, err := filepath.EvalSymlinks(gcloud); err == nil {
			if root := filepath.Dir(filepath.Dir(target)); hasPlatform(root) {
				return root, nil
			}
		}
		if root, err := m.askRoot(gcloud); err == nil && hasPlatform(root) {
			return root, nil
		}
	}
	usual := m.usual
	if home := m.getenv("HOME"); home != "" {
		usual = append(slices.Clone(usual), filepath.Join(home, "google-cloud-sdk"))
	}
	if i := slices.IndexFunc(usual, hasPlatform); i >= 0 {
		return usual[i], nil
	}
	return "", errors.New("locate Cloud SDK: not found: install google-cloud-cli, or name its directory in " + rootVar)
}

// askRoot has gcloud say where it is installed.
func askRoot(ctx context.Context, gcloud string) (string, error) {
	out, err := exec.CommandContext(ctx, gcloud, "info", "--format=value(installation.sdk_root)").Output()
	if err != nil {
		return "", fmt.Errorf("ask gcloud: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// component is one emulator of the SDK.
type component struct {
	name string // as gcloud components and the Debian packages call it
	jars string // pattern below the SDK's root
}

// jar is the component's program. With several versions present it is the last by name.
func (in Installation) jar(c component) (string, error) {
	found, err := filepath.Glob(filepath.Join(in.Root, c.jars))
	if err != nil {
		return "", fmt.Errorf("locate %s: %w", c.name, err)
	}
	if len(found) == 0 {
		return "", fmt.Errorf("locate %[1]s: no %[2]s below %[3]s: run gcloud components install %[1]s (Debian: apt-get install google-cloud-cli-%[4]s)",
			c.name, c.jars, in.Root, strings.TrimPrefix(c.name, "cloud-"))
	}
	return slices.Max(found), nil
}

func hasPlatform(root string) bool {
	info, err := os.Stat(filepath.Join(root, "platform"))
	return err == nil && info.IsDir()
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
