package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"

	"github.com/berthproject/berth/packaging/sbom"
)

// user is the user and group of the image, as numbers. No distribution assigns these numbers.
const user = "65532:65532"

// release has the properties that all binaries of an image share.
type release struct {
	name, version, commit string
	created               time.Time
}

// platform is the operating system and architecture of a binary, and the path of the binary.
type platform struct{ os, arch, file string }

// build returns the image index and the SBOM of each platform.
func build(r release, platforms []platform) (v1.ImageIndex, [][]byte, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	var sboms [][]byte
	for _, p := range platforms {
		image, doc, err := buildPlatform(r, p)
		if err != nil {
			return nil, nil, fmt.Errorf("%s/%s: %w", p.os, p.arch, err)
		}
		sboms = append(sboms, doc)
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{
			Platform: &v1.Platform{OS: p.os, Architecture: p.arch},
		}})
	}
	return mutate.Annotations(index, labels(r)).(v1.ImageIndex), sboms, nil
}

// buildPlatform returns the image of one binary and its SBOM.
func buildPlatform(r release, p platform) (v1.Image, []byte, error) {
	binary, err := os.ReadFile(p.file)
	if err != nil {
		return nil, nil, err
	}
	if err := checkStatic(binary); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", p.file, err)
	}
	sum := sha256.Sum256(binary)
	doc, err := sbom.FromBinary(p.file, "berth", r.version, hex.EncodeToString(sum[:]), r.created)
	if err != nil {
		return nil, nil, err
	}
	base, err := layer(r.created, []file{
		{"etc/", nil, 0o755}, {"etc/ssl/", nil, 0o755}, {"etc/ssl/certs/", nil, 0o755},
		{"etc/ssl/certs/ca-certificates.crt", rootCertificates(), 0o644},
		{"etc/passwd", []byte("root:x:0:0:root:/:/sbin/nologin\nberth:x:65532:65532:berth:/:/sbin/nologin\n"), 0o644},
		{"etc/group", []byte("root:x:0:\nberth:x:65532:\n"), 0o644},
		{"tmp/", nil, 0o1777},
	})
	if err != nil {
		return nil, nil, err
	}
	program, err := layer(r.created, []file{
		{"berth", binary, 0o755},
		{"usr/", nil, 0o755}, {"usr/share/", nil, 0o755}, {"usr/share/doc/", nil, 0o755}, {"usr/share/doc/berth/", nil, 0o755},
		{"usr/share/doc/berth/sbom.spdx.json", doc, 0o644},
	})
	if err != nil {
		return nil, nil, err
	}
	image, err := mutate.AppendLayers(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), base, program)
	if err != nil {
		return nil, nil, err
	}
	image, err = mutate.ConfigFile(image, newConfig(image, r, p))
	if err != nil {
		return nil, nil, err
	}
	return mutate.Annotations(image, labels(r)).(v1.Image), doc, nil
}

// newConfig returns the configuration of the image of a platform.
func newConfig(image v1.Image, r release, p platform) *v1.ConfigFile {
	config, err := image.ConfigFile()
	if err != nil {
		panic(err) // an image in memory has a configuration
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = p.os, p.arch
	config.Created = v1.Time{Time: r.created}
	config.Config = v1.Config{
		User: user, Entrypoint: []string{"/berth"}, WorkingDir: "/", Labels: labels(r),
		Env: []string{"PATH=/", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"},
	}
	for i := range config.History {
		config.History[i] = v1.History{Created: config.Created, CreatedBy: "make image"}
	}
	return config
}

// labels returns the labels of the configuration, which are also the annotations of manifests and index.
func labels(r release) map[string]string {
	out := map[string]string{
		"org.opencontainers.image.title":       "berth",
		"org.opencontainers.image.description": "Scheduler, controllers, node agent and API server for Kubernetes",
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.source":      "https://github.com/berthproject/berth",
		"org.opencontainers.image.version":     r.version,
		"org.opencontainers.image.created":     r.created.UTC().Format(time.RFC3339),
	}
	if r.commit != "" {
		out["org.opencontainers.image.revision"] = r.commit
	}
	return out
}

// checkStatic returns an error if a binary requires a dynamic linker, which the image does not have.
func checkStatic(binary []byte) error {
	parsed, err := elf.NewFile(bytes.NewReader(binary))
	if err != nil {
		return err
	}
	for _, p := range parsed.Progs {
		if p.Type == elf.PT_INTERP {
			return fmt.Errorf("the binary is not static: build it with CGO_ENABLED=0")
		}
	}
	return nil
}

// rootCertificates returns Mozilla's root certificates as PEM, without those that have constraints outside of X.509.
func rootCertificates() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			// Writing to a buffer returns no error.
			_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	return out.Bytes()
}

// file is an entry of a layer. It is a directory if its name ends in a slash.
type file struct {
	name string
	data []byte
	mode int64
}

// layer returns a compressed layer whose files belong to root.
func layer(created time.Time, files []file) (v1.Layer, error) {
	var content bytes.Buffer
	archive := tar.NewWriter(&content)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: created.UTC(), Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if f.name[len(f.name)-1] == '/' {
			header.Typeflag = tar.TypeDir
		}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	opener := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes())), nil }
	return tarball.LayerFromOpener(opener, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
}
