package volume

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/berthproject/berth/agent/mounts"
)

// files returns the files that a container sees, without names that begin with two dots.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "..") {
			continue
		}
		target, err := filepath.EvalSymlinks(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if err := filepath.WalkDir(target, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				rel, _ := filepath.Rel(target, path)
				out[filepath.Join(e.Name(), rel)] = readFile(t, path)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func secret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "keys", Namespace: "shop"}, Data: map[string][]byte{"key": []byte("s3cret"), "cert": {0, 1}}}
}

func TestFilesOfEachKind(t *testing.T) {
	cm := configMap("conf", map[string]string{"a": "1", "b": "2"})
	cm.BinaryData = map[string][]byte{"raw": {0xff}}
	h := newFixture(t, cm, secret())
	ref := corev1.LocalObjectReference{Name: "conf"}
	pod := podWith(
		configMapVolume("all", "conf"),
		volume("some", corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: ref, Items: []corev1.KeyToPath{{Key: "a", Path: "dir/sub/a"}}}}),
		volume("none", corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "missing"}, Optional: ptr.To(true)}}),
		volume("secret", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "keys"}}),
		volume("down", corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{
			{Path: "labels", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels"}},
			{Path: "cpu", ResourceFieldRef: &corev1.ResourceFieldSelector{ContainerName: "main", Resource: "limits.cpu"}}}}}),
		volume("mixed", corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", Audience: "bank", ExpirationSeconds: ptr.To(int64(3600))}},
			{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: ref, Items: []corev1.KeyToPath{{Key: "b", Path: "conf/b"}}}},
			{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "keys"}, Items: []corev1.KeyToPath{{Key: "key", Path: "key"}}}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{Path: "name", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}}},
		}}}),
	)
	h.prepare(pod)
	for name, want := range map[string]map[string]string{
		"all":    {"a": "1", "b": "2", "raw": "\xff"},
		"some":   {"dir/sub/a": "1"},
		"none":   {},
		"secret": {"key": "s3cret", "cert": "\x00\x01"},
		"down":   {"labels": `app="web"`, "cpu": "2"},
		"mixed":  {"token": "token-1 of web for [bank]", "conf/b": "2", "key": "s3cret", "name": "web"},
	} {
		if got := files(t, h.path(pod, name)); !maps.Equal(got, want) {
			t.Errorf("files of volume %s %q, want %q", name, got, want)
		}
	}
	points, err := mounts.At(h.root)
	for i, p := range points {
		points[i] = filepath.Base(p)
	}
	slices.Sort(points)
	if !slices.Equal(points, []string{"mixed", "secret"}) || err != nil {
		t.Errorf("volumes on tmpfs: %v, %v; want mixed and secret", points, err)
	}
}

func TestMissingKeysAndObjects(t *testing.T) {
	h := newFixture(t, configMap("conf", map[string]string{"a": "1"}), secret())
	item := []corev1.KeyToPath{{Key: "x", Path: "x"}}
	conf, keys := corev1.LocalObjectReference{Name: "conf"}, corev1.LocalObjectReference{Name: "keys"}
	projected := func(p corev1.VolumeProjection) corev1.VolumeSource {
		return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{p}}}
	}
	for want, source := range map[string]corev1.VolumeSource{
		`configmap "missing" not found`:         configMapVolume("", "missing").VolumeSource,
		`secret "missing" not found`:            {Secret: &corev1.SecretVolumeSource{SecretName: "missing"}},
		`references non-existent config key: x`: {ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: conf, Items: item}},
		`references non-existent secret key: x`: {Secret: &corev1.SecretVolumeSource{SecretName: "keys", Items: item}},
		`path "../up": must be relative and must not begin with two dots`: {ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: conf,
			Items: []corev1.KeyToPath{{Key: "a", Path: "../up"}}}},
		"sources[0]: unsupported kind of source; use configMap, secret, downwardAPI or serviceAccountToken": projected(corev1.VolumeProjection{
			ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{Path: "x"}}),
	} {
		pod := podWith(volume("v", source))
		if got := errorText(h.Prepare(context.Background(), pod)); got != `MountVolume.SetUp failed for volume "v" : `+want {
			t.Errorf("error %q\nwant %q", got, want)
		}
		if err := h.Teardown(pod.UID); err != nil {
			t.Error(err)
		}
	}
	optional := podWith(
		volume("a", corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: conf, Items: item, Optional: ptr.To(true)}}),
		volume("b", projected(corev1.VolumeProjection{Secret: &corev1.SecretProjection{LocalObjectReference: keys, Items: item, Optional: ptr.To(true)}})),
		volume("c", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "missing", Optional: ptr.To(true)}}))
	h.prepare(optional)
	for _, name := range []string{"a", "b", "c"} {
		if got := files(t, h.path(optional, name)); len(got) != 0 {
			t.Errorf("files of volume %s %v, want none", name, got)
		}
	}
}

// TestModesAndOwners checks that the mode of an item takes precedence over that of the volume. If the containers have a
// common user or a group, only that user or group may read a token.
func TestModesAndOwners(t *testing.T) {
	h := newFixture(t, configMap("conf", map[string]string{"a": "1", "b": "2"}))
	source := configMapVolume("conf", "conf")
	source.ConfigMap.DefaultMode = ptr.To(int32(0o400))
	source.ConfigMap.Items = []corev1.KeyToPath{{Key: "a", Path: "a"}, {Key: "b", Path: "b", Mode: ptr.To(int32(0o755))}}
	token := volume("token", corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{DefaultMode: ptr.To(int32(0o644)), Sources: []corev1.VolumeProjection{
		{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: ptr.To(int64(3600))}}}}})
	for name, tc := range map[string]struct {
		user, group *int64
		a, b, token fs.FileMode
		uid, gid    uint32 // of the token
	}{
		"containers with different users": {a: 0o400, b: 0o755, token: 0o644},
		"a user":                          {user: ptr.To(int64(1000)), a: 0o400, b: 0o755, token: 0o600, uid: 1000},
		"a group":                         {group: ptr.To(int64(2000)), a: 0o440, b: 0o755, token: 0o640, gid: 2000},
		"both":                            {user: ptr.To(int64(1000)), group: ptr.To(int64(2000)), a: 0o440, b: 0o755, token: 0o640, gid: 2000},
	} {
		t.Run(name, func(t *testing.T) {
			pod := podWith(source, token)
			pod.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: tc.user, FSGroup: tc.group}
			h.prepare(pod)
			for path, want := range map[string]fs.FileMode{"conf/a": tc.a, "conf/b": tc.b, "token/token": tc.token} {
				name, file := filepath.Split(path)
				info, err := os.Stat(filepath.Join(h.path(pod, filepath.Clean(name)), file))
				if err != nil || info.Mode() != want {
					t.Errorf("%s has mode %v, %v; want %v", path, info.Mode(), err, want)
				}
				s := info.Sys().(*syscall.Stat_t)
				if file == "token" && (s.Uid != tc.uid || s.Gid != tc.gid) {
					t.Errorf("the token's owner is %d:%d, want %d:%d", s.Uid, s.Gid, tc.uid, tc.gid)
				}
			}
			if err := h.Teardown(pod.UID); err != nil {
				t.Error(err)
			}
		})
	}
}
