package main

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"github.com/berthproject/berth/agent/image/oci"
	"github.com/berthproject/berth/agent/runtime/pause"
	"github.com/berthproject/berth/conformance/testcluster"
)

// testImages is the repository of the suite's images.
const testImages = "registry.k8s.io/e2e-test-images/"

// generalImage is the image of agnhost, the suite's general test program.
const generalImage = testImages + "agnhost:2.63.0"

// pulledImages returns the images of the specs with the pull policy Always.
func pulledImages(batch string) []string {
	images := []string{testImages + "kitten:1.8"}
	if batch == beyondBatch {
		images = append(images, generalImage)
	}
	return images
}

// packImages writes an archive with a substitute for each image of the conformance specs and returns its path.
func packImages(ctx context.Context, t *toolset) (string, error) {
	start := time.Now()
	specs, err := imageSpecs(ctx, t)
	if err != nil {
		return "", fmt.Errorf("packing images: %w", err)
	}
	archive := filepath.Join(t.dir, "images.tar")
	if err := testcluster.Pack(archive, specs); err != nil {
		return "", err
	}
	count := len(specs)
	clear(specs)
	debug.FreeOSMemory() // releases the programs of all layers, some GB
	fmt.Printf("packed %d images in %s\n", count, time.Since(start).Round(time.Second))
	return archive, nil
}

// imageSpecs returns the contents of the substitutes by image reference.
func imageSpecs(ctx context.Context, t *toolset) (map[string]oci.Spec, error) {
	base, err := baseFiles(ctx, t.shell)
	if err != nil {
		return nil, err
	}
	clients, err := clientPrograms(ctx)
	if err != nil {
		return nil, err
	}
	agnhost, err := agnhostFiles(t)
	if err != nil {
		return nil, err
	}
	networkLayers := [][]oci.File{base, clients, agnhost}
	server := oci.Spec{Layers: networkLayers, Entrypoint: []string{"/agnhost"}, Cmd: []string{"pause"}, Env: testcluster.Environment, WorkingDir: "/"}
	images := map[string]oci.Spec{
		generalImage:                           server,
		testImages + "agnhost:2.55":            server,
		testImages + "busybox:1.37.0-1":        {Layers: [][]oci.File{base}, Cmd: []string{"sh"}, Env: testcluster.Environment},
		testImages + "nonroot:1.5":             {Layers: [][]oci.File{base}, Cmd: []string{"sh"}, Env: testcluster.Environment, User: "1234"},
		testImages + "glibc-dns-testing:2.0.0": {Layers: append(networkLayers, []oci.File{{Path: "/results", Dir: true, Mode: 0o755}}), Cmd: []string{"bash"}, Env: testcluster.Environment},
	}
	for _, newImages := range []func(*toolset, oci.Spec) (map[string]oci.Spec, error){webServers, escalationImage, apiServers, pauseImages} {
		specs, err := newImages(t, server)
		if err != nil {
			return nil, err
		}
		maps.Copy(images, specs)
	}
	return images, nil
}

// agnhostFiles returns the suite's general test program and the other files of its image.
func agnhostFiles(t *toolset) ([]oci.File, error) {
	files := []oci.File{
		{Path: "/agnhost-2", Link: "agnhost"},
		{Path: "/uploads", Dir: true, Mode: 0o755},
		// The group is tested as a supplementary group that the image defines.
		{Path: "/etc/passwd", Mode: 0o644, Data: []byte(accounts + "user-defined-in-image:x:1000:1000::/home:/bin/sh\n")},
		{Path: "/etc/group", Mode: 0o644, Data: []byte(groups + "user-defined-in-image:x:1000:\ngroup-defined-in-image:x:50000:user-defined-in-image\n")},
	}
	certificates := filepath.Join(t.source, "test", "images", "agnhost", "porter")
	for path, source := range map[string]string{
		"/localhost.crt": filepath.Join(certificates, "localhost.crt"),
		"/localhost.key": filepath.Join(certificates, "localhost.key"),
	} {
		f, err := testcluster.File(path, source, 0o644)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	programs := map[string]string{"/agnhost": t.agnhost}
	if t.coreDNS != "" {
		programs["/coredns"] = t.coreDNS
	}
	for path, source := range programs {
		f, err := testcluster.File(path, source, 0o755)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	pause, err := pauseSpec()
	if err != nil {
		return nil, err
	}
	image, err := oci.Build(pause)
	if err != nil {
		return nil, err
	}
	served, err := registryFiles("pause", "testing", image)
	return slices.Concat(files, served), err
}

// webServers returns the images that serve files. agnhost serves the root directory.
func webServers(t *toolset, server oci.Spec) (map[string]oci.Spec, error) {
	images := map[string]oci.Spec{}
	for _, n := range []string{"kitten", "nautilus"} {
		html := filepath.Join(t.source, "test", "images", n, "html")
		spec := server
		var pages []oci.File
		for _, file := range []string{"data.json", n + ".jpg"} {
			f, err := testcluster.File("/"+file, filepath.Join(html, file), 0o644)
			if err != nil {
				return nil, err
			}
			pages = append(pages, f)
		}
		// The spec of image volumes expects this file of the real image.
		pages = append(pages, oci.File{Path: "/etc/os-release", Mode: 0o644, Data: []byte("NAME=\"Alpine Linux\"\n")})
		spec.Layers = append(slices.Clone(server.Layers), pages)
		spec.Cmd = []string{"test-webserver"}
		images[testImages+n+":1.8"] = spec
	}
	nginx := server
	nginx.Layers = append(slices.Clone(server.Layers), []oci.File{{Path: "/index.html", Mode: 0o644, Data: []byte("<h1>Welcome to nginx!</h1>\n")}})
	nginx.Cmd = []string{"test-webserver"}
	images[testImages+"nginx:1.15-4"], images[testImages+"nginx:1.27-0"] = nginx, nginx
	return images, nil
}

// escalationImage returns the image of a program with the setuid and setgid bits that prints its effective user.
func escalationImage(t *toolset, server oci.Spec) (map[string]oci.Spec, error) {
	program, err := testcluster.File("/usr/local/bin/nnp", t.agnhost, 0o6755)
	if err != nil {
		return nil, err
	}
	return map[string]oci.Spec{testImages + "nonewprivs:1.4": {
		Layers: [][]oci.File{server.Layers[0], {program}}, Cmd: []string{"nnp", "nonewprivs"}, Env: testcluster.Environment}}, nil
}

// apiServers returns the images of the aggregated API server and of its etcd, if the batch needs them.
func apiServers(t *toolset, server oci.Spec) (map[string]oci.Spec, error) {
	if t.etcd == "" {
		return nil, nil
	}
	etcd, err := testcluster.File("/usr/local/bin/etcd", t.etcd, 0o755)
	if err != nil {
		return nil, err
	}
	sample, err := testcluster.File("/sample-apiserver", t.sampleAPIServer, 0o755)
	return map[string]oci.Spec{
		"registry.k8s.io/etcd:3.6.8-0":         {Layers: [][]oci.File{server.Layers[0], {etcd}}, Cmd: []string{"etcd"}, Env: testcluster.Environment},
		testImages + "sample-apiserver:1.29.2": {Layers: [][]oci.File{server.Layers[0], {sample}}, Entrypoint: []string{"/sample-apiserver"}, Env: testcluster.Environment},
	}, err
}

// pauseImages returns the images of containers that only wait. containerd uses one for the sandboxes of pods.
func pauseImages(*toolset, oci.Spec) (map[string]oci.Spec, error) {
	spec, err := pauseSpec()
	if err != nil {
		return nil, err
	}
	images := map[string]oci.Spec{}
	for _, tag := range []string{"3.10", "3.10.1", "3.10.2"} {
		images["registry.k8s.io/pause:"+tag] = spec
	}
	return images, nil
}

// pauseSpec returns the contents of an image whose container only waits.
func pauseSpec() (oci.Spec, error) {
	program, err := pause.Program()
	return oci.Spec{Layers: [][]oci.File{{{Path: "/pause", Mode: 0o755, Data: program}}}, Entrypoint: []string{"/pause"}, Env: testcluster.Environment, User: "65535:65535"}, err
}
