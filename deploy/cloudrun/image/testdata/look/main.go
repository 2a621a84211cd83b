// Command look tells what a Go program finds in the root file system it is run
// in: who it is, CA roots and a time zone.
package main

import (
	"crypto/x509"
	"fmt"
	"os"
	"time"
)

func main() {
	roots, err := x509.SystemCertPool()
	if err != nil {
		fmt.Println("roots:", err)
		os.Exit(1)
	}
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		fmt.Println("zone:", err)
		os.Exit(1)
	}
	noon := time.Date(2026, time.July, 1, 12, 0, 0, 0, time.UTC).In(zone).Hour()
	fmt.Printf("user %d:%d, roots %v, noon %d\n", os.Getuid(), os.Getgid(), !roots.Equal(x509.NewCertPool()), noon)
}
