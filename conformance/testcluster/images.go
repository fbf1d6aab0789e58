package testcluster

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/berthproject/berth/agent/image/oci"
)

// Environment is the environment of all images.
var Environment = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}

// packages are the Debian packages with the programs of the images.
const packages = "busybox-static bash-static curl netcat-openbsd bind9-dnsutils iproute2"

// Pack writes an archive with images. The keys are their references.
func Pack(archive string, specs map[string]oci.Spec) error {
	tagged := map[name.Tag]v1.Image{}
	for _, reference := range slices.Sorted(maps.Keys(specs)) {
		tag, err := name.NewTag(reference)
		if err != nil {
			return err
		}
		if tagged[tag], err = oci.Build(specs[reference]); err != nil {
			return fmt.Errorf("packing %s: %w", reference, err)
		}
	}
	if err := tarball.MultiWriteToFile(archive, tagged); err != nil {
		return fmt.Errorf("writing %s: %w", archive, err)
	}
	return nil
}

// File returns a file of an image with the data of a file of this machine.
func File(path, source string, mode int64) (oci.File, error) {
	data, err := os.ReadFile(source)
	return oci.File{Path: path, Mode: mode, Data: data}, err
}

// FindProgram returns the path of an installed program.
func FindProgram(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		for _, dir := range []string{"/usr/sbin", "/sbin"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				return filepath.Join(dir, name), nil
			}
		}
		return "", fmt.Errorf("%s is not installed: apt-get install %s", name, packages)
	}
	return path, nil
}
