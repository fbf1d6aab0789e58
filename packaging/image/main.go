// Command image builds Berth's container image from static binaries, without a container runtime.
//
//	image -version v1.2.3 -commit HASH -date 2026-01-02T03:04:05Z -out DIR linux/amd64=FILE linux/arm64=FILE
//
// It writes DIR/berth-VERSION-image.tar, an OCI layout that `docker load`, `podman load`, `ctr image import` and
// `berth image load` accept, and the SBOM of each platform. With -push REFERENCE it also pushes the image to a
// registry, with the credentials of docker's configuration file.
//
// Equal binaries and flags give an equal digest.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	var r release
	flags.StringVar(&r.version, "version", "devel", "version of the binaries")
	flags.StringVar(&r.commit, "commit", "", "commit of the binaries")
	flags.StringVar(&r.name, "name", "berth", "name of the image, without tag")
	date := flags.String("date", "1970-01-01T00:00:00Z", "creation time, in RFC 3339")
	out := flags.String("out", ".", "directory for the image and the SBOMs")
	reference := flags.String("push", "", "reference to push the image to")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var err error
	if r.created, err = time.Parse(time.RFC3339, *date); err != nil {
		return fmt.Errorf("-date: %w", err)
	}
	if flags.NArg() == 0 {
		return errors.New("no binary: give one or more OS/ARCHITECTURE=FILE")
	}
	var platforms []platform
	for _, arg := range flags.Args() {
		target, file, ok := strings.Cut(arg, "=")
		system, arch, both := strings.Cut(target, "/")
		if !ok || !both {
			return fmt.Errorf("argument %q: must be OS/ARCHITECTURE=FILE", arg)
		}
		platforms = append(platforms, platform{os: system, arch: arch, file: file})
	}
	index, sboms, err := build(r, platforms)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(*out, 0o755); err != nil {
		return err
	}
	for i, p := range platforms {
		name := fmt.Sprintf("berth-%s-%s-%s.spdx.json", r.version, p.os, p.arch)
		if err := os.WriteFile(filepath.Join(*out, name), sboms[i], 0o644); err != nil {
			return err
		}
	}
	file := filepath.Join(*out, "berth-"+r.version+"-image.tar")
	if err := write(index, r, file); err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	fmt.Println(file, digest)
	if *reference == "" {
		return nil
	}
	return push(index, *reference)
}
