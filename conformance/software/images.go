package main

import (
	"fmt"
	"path/filepath"

	"github.com/berthproject/berth/agent/image/oci"
	"github.com/berthproject/berth/conformance/testcluster"
)

// accounts are the users of all images. 65532 is the user of distroless images.
const accounts = "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n"

// baseFiles are the files of a minimal image, like those of distroless images.
var baseFiles = []oci.File{
	{Path: "/etc/passwd", Mode: 0o644, Data: []byte(accounts)},
	{Path: "/etc/group", Mode: 0o644, Data: []byte("root:x:0:\nnonroot:x:65532:\n")},
	{Path: "/etc/nsswitch.conf", Mode: 0o644, Data: []byte("hosts: files dns\n")},
	{Path: "/tmp", Dir: true, Mode: 0o1777},
	{Path: "/home/nonroot", Dir: true, Mode: 0o755},
}

// packImages writes an archive with the images of a release. It returns its path and the images that nodes pull.
func packImages(dir string, s software, programs map[string]string) (archive string, pulled []string, err error) {
	images := map[string]oci.Spec{}
	for _, p := range s.programs {
		file, err := testcluster.File(p.path, programs[p.name], 0o755)
		if err != nil {
			return "", nil, err
		}
		images[p.image] = oci.Spec{Layers: [][]oci.File{baseFiles, {file}}, Entrypoint: []string{p.path}, Env: testcluster.Environment, User: p.user, WorkingDir: p.workDir}
		if p.pulled {
			pulled = append(pulled, p.image)
		}
	}
	if len(s.images) > 0 {
		shell, err := shellFiles()
		if err != nil {
			return "", nil, err
		}
		for _, reference := range s.images {
			images[reference] = oci.Spec{Layers: [][]oci.File{baseFiles, shell}, Cmd: []string{"sh"}, Env: testcluster.Environment}
		}
	}
	archive = filepath.Join(dir, "images.tar")
	if err := testcluster.Pack(archive, images); err != nil {
		return "", nil, fmt.Errorf("packing images: %w", err)
	}
	return archive, pulled, nil
}

// shellFiles returns busybox with the applets that checks use.
func shellFiles() ([]oci.File, error) {
	path, err := testcluster.FindProgram("busybox")
	if err != nil {
		return nil, err
	}
	busybox, err := testcluster.File("/bin/busybox", path, 0o755)
	if err != nil {
		return nil, err
	}
	files := []oci.File{busybox}
	for _, applet := range []string{"cat", "echo", "false", "sh", "sleep", "true"} {
		files = append(files, oci.File{Path: "/bin/" + applet, Link: "busybox"})
	}
	return files, nil
}
