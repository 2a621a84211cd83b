package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"time"
)

//go:embed static
var staticFiles embed.FS

// assetTags are the assets' contents in short, by name.
var assetTags = sync.OnceValue(func() map[string]string {
	tags := make(map[string]string)
	err := fs.WalkDir(staticFiles, "static", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := staticFiles.ReadFile(path)
		sum := sha256.Sum256(data)
		tags[strings.TrimPrefix(path, "static/")] = hex.EncodeToString(sum[:6])
		return err
	})
	if err != nil {
		panic(fmt.Sprintf("read embedded assets: %v", err))
	}
	return tags
})

// assetURL is where an asset is served; it changes with the asset.
func assetURL(name string) (string, error) {
	tag, ok := assetTags()[name]
	if !ok {
		return "", fmt.Errorf("there is no asset %q", name)
	}
	return Prefix + "/assets/" + name + "?v=" + tag, nil
}

// asset serves a script or a style sheet, to anybody.
func (s *server) asset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	tag, ok := assetTags()[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	if r.URL.Query().Get("v") == tag {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	data, _ := staticFiles.ReadFile("static/" + name) // it is in assetTags
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(data))
}
