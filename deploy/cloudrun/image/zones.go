package image

import (
	"archive/zip"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// zones are the time zones that come with the Go release that builds, where Go
// programs and others look for them. The second result is their release, as in
// 2025c.
func zones(ctx context.Context, dir string) (files, string, error) {
	cmd := exec.CommandContext(ctx, "go", "env", "GOROOT")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return nil, "", fmt.Errorf("find time zones: go env GOROOT: %w", err)
	}
	from := filepath.Join(strings.TrimSpace(string(out)), "lib", "time")
	found, err := unzip(filepath.Join(from, "zoneinfo.zip"))
	if err != nil {
		return nil, "", fmt.Errorf("read time zones: %w", err)
	}
	return found, zonesRelease(from), nil
}

func unzip(name string) (files, error) {
	archive, err := zip.OpenReader(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = archive.Close() }() // it was read alone
	found := make(files)
	for _, entry := range archive.File {
		if entry.FileInfo().IsDir() {
			continue
		}
		data, err := readEntry(entry)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", entry.Name, err)
		}
		found[path.Join(zonesPath, path.Clean("/"+entry.Name))] = file{0o644, data}
	}
	return found, nil
}

// maxZone is far above the largest.
const maxZone = 1 << 20

func readEntry(entry *zip.File) ([]byte, error) {
	r, err := entry.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // it was read alone
	return io.ReadAll(io.LimitReader(r, maxZone))
}

var dataRelease = regexp.MustCompile(`(?m)^DATA=(\w+)$`)

// zonesRelease is told by the script that Go's archive is made with.
func zonesRelease(dir string) string {
	script, err := os.ReadFile(filepath.Join(dir, "update.bash"))
	if err != nil {
		return ""
	}
	if found := dataRelease.FindSubmatch(script); found != nil {
		return string(found[1])
	}
	return ""
}
