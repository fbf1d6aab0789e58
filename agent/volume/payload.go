package volume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/berthproject/berth/agent/downwardapi"
)

// payloadBuilder builds the payloads of a pod's volumes.
type payloadBuilder struct {
	*Volumes
	pod    *corev1.Pod
	tokens *tokenCache
	reader *objectReader
	// immutable is set if no object that payload has read can change.
	immutable bool
}

// payload returns the files of a volume; ok is false for volumes without files.
func (b *payloadBuilder) payload(ctx context.Context, volume *corev1.Volume) (p payload, ok bool, err error) {
	p, b.immutable = payload{}, true
	switch s := volume.VolumeSource; {
	case s.ConfigMap != nil:
		err = b.configMap(ctx, p, s.ConfigMap.Name, s.ConfigMap.Items, s.ConfigMap.DefaultMode, s.ConfigMap.Optional)
	case s.Secret != nil:
		err = b.secret(ctx, p, s.Secret.SecretName, s.Secret.Items, s.Secret.DefaultMode, s.Secret.Optional)
	case s.DownwardAPI != nil:
		err = b.downward(p, s.DownwardAPI.Items, s.DownwardAPI.DefaultMode)
	case s.Projected != nil:
		err = b.addProjected(ctx, p, volume.Name, s.Projected)
	default:
		return nil, false, nil
	}
	return p, true, err
}

func (b *payloadBuilder) configMap(ctx context.Context, p payload, name string, items []corev1.KeyToPath, mode *int32, optional *bool) error {
	object, err := b.reader.configMap(ctx, b.pod.Namespace, name)
	if apierrors.IsNotFound(err) && isTrue(optional) {
		b.immutable = false
		return nil
	}
	if err != nil {
		return err
	}
	b.immutable = b.immutable && isTrue(object.Immutable)
	data := make(map[string][]byte, len(object.Data)+len(object.BinaryData))
	for k, s := range object.Data {
		data[k] = []byte(s)
	}
	for k, s := range object.BinaryData {
		data[k] = s
	}
	return p.addKeys(data, items, mode, optional, "config")
}

func (b *payloadBuilder) secret(ctx context.Context, p payload, name string, items []corev1.KeyToPath, mode *int32, optional *bool) error {
	object, err := b.reader.secret(ctx, b.pod.Namespace, name)
	if apierrors.IsNotFound(err) && isTrue(optional) {
		b.immutable = false
		return nil
	}
	if err != nil {
		return err
	}
	b.immutable = b.immutable && isTrue(object.Immutable)
	return p.addKeys(object.Data, items, mode, optional, "secret")
}

// addKeys adds the files of an object: the items, or all keys.
func (p payload) addKeys(data map[string][]byte, items []corev1.KeyToPath, mode *int32, optional *bool, kind string) error {
	if len(items) == 0 {
		for k, b := range data {
			p[k] = file{data: b, mode: fileMode(mode)}
		}
		return nil
	}
	for _, item := range items {
		b, ok := data[item.Key]
		if !ok && isTrue(optional) {
			continue
		}
		if !ok {
			return fmt.Errorf("references non-existent %s key: %s", kind, item.Key)
		}
		m := item.Mode
		if m == nil {
			m = mode
		}
		p[item.Path] = file{data: b, mode: fileMode(m)}
	}
	return nil
}

func (b *payloadBuilder) downward(p payload, items []corev1.DownwardAPIVolumeFile, mode *int32) error {
	b.immutable = false
	for _, item := range items {
		var value string
		var err error
		switch {
		case item.FieldRef != nil:
			value, err = downwardapi.Field(b.pod, item.FieldRef.FieldPath)
		case item.ResourceFieldRef != nil:
			value, err = downwardapi.Resource(b.pod, "", item.ResourceFieldRef, b.opts.Node().Status.Allocatable)
		default:
			err = errors.New("must have fieldRef or resourceFieldRef")
		}
		if err != nil {
			return fmt.Errorf("file %q: %w", item.Path, err)
		}
		m := item.Mode
		if m == nil {
			m = mode
		}
		p[item.Path] = file{data: []byte(value), mode: fileMode(m)}
	}
	return nil
}

// addProjected adds all sources. A later source replaces the file of an earlier one with the same path.
func (b *payloadBuilder) addProjected(ctx context.Context, p payload, volume string, v *corev1.ProjectedVolumeSource) error {
	for i, s := range v.Sources {
		var err error
		switch {
		case s.ConfigMap != nil:
			err = b.configMap(ctx, p, s.ConfigMap.Name, s.ConfigMap.Items, v.DefaultMode, s.ConfigMap.Optional)
		case s.Secret != nil:
			err = b.secret(ctx, p, s.Secret.Name, s.Secret.Items, v.DefaultMode, s.Secret.Optional)
		case s.DownwardAPI != nil:
			err = b.downward(p, s.DownwardAPI.Items, v.DefaultMode)
		case s.ServiceAccountToken != nil:
			err = b.token(ctx, p, tokenSource{volume, i}, s.ServiceAccountToken, v.DefaultMode)
		default:
			err = fmt.Errorf("sources[%d]: unsupported kind of source; use configMap, secret, downwardAPI or serviceAccountToken", i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *payloadBuilder) token(ctx context.Context, p payload, s tokenSource, projection *corev1.ServiceAccountTokenProjection, mode *int32) error {
	b.immutable = false
	value, err := b.tokens.get(ctx, b.opts.Client, b.pod, s, projection, b.now())
	if err != nil {
		return err
	}
	f := file{data: []byte(value), mode: fileMode(mode)}
	// Only the containers' user or the fsGroup may read a token.
	if uid, ok := commonUser(b.pod); ok && fsGroup(b.pod) == noFSGroup {
		f.mode, f.uid = 0o600, uid
	} else if fsGroup(b.pod) != noFSGroup {
		f.mode = 0o600
	}
	p[projection.Path] = f
	return nil
}

// commonUser returns the user of all containers. ok is false if a container has none or another one.
func commonUser(pod *corev1.Pod) (uid int, ok bool) {
	user := int64(-1)
	for c := range containers(pod) {
		var containerUser *int64
		if s := pod.Spec.SecurityContext; s != nil {
			containerUser = s.RunAsUser
		}
		if s := c.SecurityContext; s != nil && s.RunAsUser != nil {
			containerUser = s.RunAsUser
		}
		if containerUser == nil || user >= 0 && *containerUser != user {
			return 0, false
		}
		user = *containerUser
	}
	return int(user), user >= 0
}

func isTrue(b *bool) bool { return b != nil && *b }

// fileMode converts a mode of the API; the default is 0644.
func fileMode(mode *int32) fs.FileMode {
	if mode == nil {
		return 0o644
	}
	return fs.FileMode(*mode).Perm()
}
