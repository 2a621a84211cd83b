package image

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// rootsModule brings Mozilla's roots.
const rootsModule = "golang.org/x/crypto/x509roots/fallback"

// roots are the certificate authorities that Mozilla trusts without reserve. A
// file cannot say under which condition one is trusted, so those that have a
// condition are left out; none of them stands behind Google's APIs.
func roots() (files, error) {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		cert, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			return nil, fmt.Errorf("read CA roots: %w", err)
		}
		fmt.Fprintf(&out, "# %s\n", cert.Subject)
		if err := pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, fmt.Errorf("write CA roots: %w", err)
		}
	}
	return files{rootsPath: {0o644, out.Bytes()}}, nil
}
