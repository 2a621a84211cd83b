package image

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// The part of SPDX 2.3 that an image of Go modules needs.
type (
	spdxDocument struct {
		Version       string             `json:"spdxVersion"`
		License       string             `json:"dataLicense"`
		ID            string             `json:"SPDXID"`
		Name          string             `json:"name"`
		Namespace     string             `json:"documentNamespace"`
		Creation      spdxCreation       `json:"creationInfo"`
		Describes     []string           `json:"documentDescribes"`
		Packages      []spdxPackage      `json:"packages"`
		Relationships []spdxRelationship `json:"relationships"`
	}
	spdxCreation struct {
		Created  string   `json:"created"`
		Creators []string `json:"creators"`
	}
	spdxPackage struct {
		ID        string         `json:"SPDXID"`
		Name      string         `json:"name"`
		Version   string         `json:"versionInfo,omitempty"`
		Purpose   string         `json:"primaryPackagePurpose"`
		Location  string         `json:"downloadLocation"`
		Analyzed  bool           `json:"filesAnalyzed"`
		Concluded string         `json:"licenseConcluded"`
		Declared  string         `json:"licenseDeclared"`
		Copyright string         `json:"copyrightText"`
		FileName  string         `json:"packageFileName,omitempty"`
		Comment   string         `json:"comment,omitempty"`
		Checksums []spdxChecksum `json:"checksums,omitempty"`
		Refs      []spdxRef      `json:"externalRefs,omitempty"`
	}
	spdxChecksum struct {
		Algorithm string `json:"algorithm"`
		Value     string `json:"checksumValue"`
	}
	spdxRef struct {
		Category string `json:"referenceCategory"`
		Type     string `json:"referenceType"`
		Locator  string `json:"referenceLocator"`
	}
	spdxRelationship struct {
		From string `json:"spdxElementId"`
		Type string `json:"relationshipType"`
		To   string `json:"relatedSpdxElement"`
	}
)

const (
	spdxUnknown = "NOASSERTION"
	spdxOurs    = "Apache-2.0"
)

// sbom lists what an image is made of: the binary, the modules and the standard
// library in it as the binary itself tells, the CA roots and the time zones.
func (s Spec) sbom(platform v1.Platform, img v1.Image, base files, binary []byte, zones string) ([]byte, error) {
	info, err := buildinfo.Read(bytes.NewReader(binary))
	if err != nil {
		return nil, fmt.Errorf("read the binary's build information: %w", err)
	}
	digest, err := img.Digest()
	if err != nil {
		return nil, err
	}
	d := spdxDocument{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: "SPDXRef-DOCUMENT",
		Name:      fmt.Sprintf("%s %s %s", s.program().name, s.Version, platform),
		Namespace: "https://spdx.org/spdxdocs/" + s.program().name + "-" + digest.Hex,
		Creation:  spdxCreation{s.Created.UTC().Format(time.RFC3339), []string{"Tool: outbox-relay-build-image"}},
	}
	image := d.add(spdxPackage{
		Name: s.program().name, Version: s.Version, Purpose: "CONTAINER", Declared: spdxOurs,
		Checksums: []spdxChecksum{{"SHA256", digest.Hex}},
		Refs:      purl("pkg:oci/" + s.program().name + "@" + strings.Replace(digest.String(), ":", "%3A", 1) + "?arch=" + platform.Architecture),
	})
	d.Describes = []string{image}
	d.relate(d.ID, "DESCRIBES", image)
	program := d.add(spdxPackage{
		Name: info.Main.Path, Version: s.Version, Purpose: "APPLICATION", Declared: spdxOurs, FileName: "/" + s.binaryPath(),
		Checksums: sha256Of(binary),
	})
	d.relate(image, "CONTAINS", program)
	d.relate(image, "CONTAINS", d.add(spdxPackage{
		Name: rootsModule, Version: rootsVersion(), Purpose: "OTHER", Comment: "Mozilla's CA roots", FileName: "/" + rootsPath,
		Checksums: sha256Of(base[rootsPath].data),
	}))
	d.relate(image, "CONTAINS", d.add(spdxPackage{Name: "tzdata", Version: zones, Purpose: "OTHER", Comment: "time zones, below /" + zonesPath}))
	for _, m := range modules(info) {
		d.relate(program, "DEPENDS_ON", d.add(m))
	}
	out, err := json.MarshalIndent(d, "", "  ")
	return append(out, '\n'), err
}

var notInID = regexp.MustCompile(`[^a-zA-Z0-9.-]+`)

// add completes a package and returns its ID.
func (d *spdxDocument) add(p spdxPackage) string {
	p.ID = fmt.Sprintf("SPDXRef-%d-%s", len(d.Packages), notInID.ReplaceAllString(p.Name, "-"))
	p.Location, p.Concluded, p.Copyright = spdxUnknown, spdxUnknown, spdxUnknown
	if p.Declared == "" {
		p.Declared = spdxUnknown
	}
	d.Packages = append(d.Packages, p)
	return p.ID
}

func (d *spdxDocument) relate(from, how, to string) {
	d.Relationships = append(d.Relationships, spdxRelationship{from, how, to})
}

func sha256Of(data []byte) []spdxChecksum {
	sum := sha256.Sum256(data)
	return []spdxChecksum{{"SHA256", hex.EncodeToString(sum[:])}}
}

// modules are those in a binary, the standard library first. A module's
// checksum is Go's own, of its files and not of one, so it stands as a comment.
func modules(info *debug.BuildInfo) []spdxPackage {
	release := strings.TrimPrefix(info.GoVersion, "go")
	all := []spdxPackage{{Name: "stdlib", Version: release, Purpose: "LIBRARY", Refs: purl("pkg:golang/stdlib@" + release)}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		all = append(all, spdxPackage{
			Name: m.Path, Version: m.Version, Purpose: "LIBRARY", Comment: m.Sum,
			Refs: purl("pkg:golang/" + m.Path + "@" + strings.ReplaceAll(m.Version, "+", "%2B")),
		})
	}
	return all
}

func purl(locator string) []spdxRef { return []spdxRef{{"PACKAGE-MANAGER", "purl", locator}} }

// rootsVersion is that of the module in this very program, which a test is not told.
func rootsVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	at := slices.IndexFunc(info.Deps, func(m *debug.Module) bool { return m.Path == rootsModule })
	if at < 0 {
		return ""
	}
	return info.Deps[at].Version
}
