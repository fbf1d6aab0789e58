package pods

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime"
)

// Files in the pod's directory that are mounted into its containers, and the directory of the files with
// termination messages. Containers can write the files, so they count as ephemeral storage. The runtime's
// own hostname and resolv.conf would not.
const (
	hostsName      = "etc-hosts" // the kubelet's name
	hostnameName   = "hostname"
	resolvConfName = "resolv.conf"
	messagesDir    = "containers" // the kubelet's name
)

// PodDir returns the directory of a pod, given the agent's directory.
func PodDir(root string, uid types.UID) string { return filepath.Join(root, "pods", string(uid)) }

// SharedFiles returns the files that all containers of a pod share, given the agent's directory.
func SharedFiles(root string, pod *corev1.Pod) (out []string) {
	for _, name := range []string{hostsName, hostnameName, resolvConfName} {
		out = append(out, filepath.Join(PodDir(root, pod.UID), name))
	}
	return out
}

// MessageDir returns the directory of a container's termination messages, given the agent's
// directory.
func MessageDir(root string, pod *corev1.Pod, container string) string {
	return filepath.Join(PodDir(root, pod.UID), messagesDir, container)
}

// implicitMounts returns the mounts that no volume provides: files of the pod and the termination
// message file. As in container runtimes, hostname and resolv.conf are read-only if the root
// file system is.
func (p *pod) implicitMounts(c *run, spec *corev1.Container, volumes []*cri.Mount) (out []*cri.Mount, err error) {
	dir, readOnly := p.runner.podDir(p.latest().UID), hasReadOnlyRoot(spec)
	for _, f := range []struct {
		path, name string
		write      func() error
		readOnly   bool
	}{
		{"/etc/hosts", hostsName, p.writeHosts, false},
		{"/etc/hostname", hostnameName, p.writeHostname, readOnly},
		{"/etc/resolv.conf", resolvConfName, p.writeResolvConf, readOnly},
	} {
		if hasMountAt(volumes, f.path) {
			continue
		}
		if err := f.write(); err != nil {
			return nil, err
		}
		out = append(out, &cri.Mount{ContainerPath: f.path, HostPath: filepath.Join(dir, f.name), Readonly: f.readOnly})
	}
	if path := spec.TerminationMessagePath; path != "" && !hasMountAt(volumes, path) {
		file := p.terminationMessageFile(p.latest().UID, c)
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			return nil, err
		}
		if err := os.WriteFile(file, nil, 0o666); err != nil {
			return nil, err
		}
		if err := os.Chmod(file, 0o666); err != nil { // independent of the umask: the container's user writes the file
			return nil, err
		}
		out = append(out, &cri.Mount{ContainerPath: path, HostPath: file})
	}
	return out, nil
}

func hasReadOnlyRoot(c *corev1.Container) bool {
	return c.SecurityContext != nil && c.SecurityContext.ReadOnlyRootFilesystem != nil && *c.SecurityContext.ReadOnlyRootFilesystem
}

func hasMountAt(mounts []*cri.Mount, path string) bool {
	for _, m := range mounts {
		if filepath.Clean(m.ContainerPath) == path {
			return true
		}
	}
	return false
}

// writeHostname writes /etc/hostname unless it exists.
func (p *pod) writeHostname() error {
	name := hostname(p.latest(), p.runner.opts.DNS.Domain)
	if name == "" {
		var err error
		if name, err = os.Hostname(); err != nil {
			return err
		}
	}
	return p.writeOnce(hostnameName, name+"\n")
}

// writeResolvConf writes /etc/resolv.conf unless it exists.
func (p *pod) writeResolvConf() error {
	text := runtime.ResolvConf(p.runner.dnsConfig(p.latest()))
	if text == "" {
		nodeText, err := os.ReadFile(p.runner.opts.DNS.ResolvConf)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		text = string(nodeText)
	}
	return p.writeOnce(resolvConfName, text)
}

// writeOnce writes a file in the pod's directory unless it exists. Containers keep what an earlier
// container of the pod wrote.
func (p *pod) writeOnce(name, text string) error {
	f, err := os.OpenFile(filepath.Join(p.runner.podDir(p.latest().UID), name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
