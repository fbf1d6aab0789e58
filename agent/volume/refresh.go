package volume

import (
	"context"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// refreshPeriod is the period of refreshes, shortened by up to a quarter to spread the nodes'
// requests. A change is visible within a minute.
const (
	refreshPeriod  = 40 * time.Second
	refreshTimeout = 15 * time.Second // for all requests of one refresh
	// restartTimeout is how long the restart of a container waits for the requests of its pod's refresh.
	restartTimeout = 2 * time.Second
)

// Run refreshes the files of prepared pods until ctx is done.
func (v *Volumes) Run(ctx context.Context) {
	timer := time.NewTimer(refreshPeriod)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-v.wake:
			v.refresh(ctx, true)
		case <-timer.C:
			v.refresh(ctx, false)
			timer.Reset(refreshPeriod - rand.N(refreshPeriod/4))
		}
	}
}

// UpdatePod sets a newer version of a prepared pod. Files may contain its labels and annotations.
func (v *Volumes) UpdatePod(pod *corev1.Pod) {
	p := v.findPod(pod.UID)
	if p == nil {
		return
	}
	p.mu.Lock()
	changed := !maps.Equal(p.pod.Labels, pod.Labels) || !maps.Equal(p.pod.Annotations, pod.Annotations)
	p.pod, p.metadataChanged = pod, p.metadataChanged || changed
	p.mu.Unlock()
	if changed {
		select {
		case v.wake <- struct{}{}:
		default:
		}
	}
}

// refresh rewrites files whose source changed: of all pods, or only of pods with changed
// metadata. It keeps files whose source cannot be read, and retries the setup of incomplete volumes.
func (v *Volumes) refresh(ctx context.Context, changedOnly bool) {
	ctx, cancel := context.WithTimeout(ctx, refreshTimeout)
	defer cancel()
	v.mu.Lock()
	pods := slices.Collect(maps.Values(v.pods))
	v.mu.Unlock()
	reader := newObjectReader(v.opts.Client)
	for _, p := range pods {
		v.refreshPod(ctx, reader, p, changedOnly)
	}
}

// Refresh rewrites the files of a prepared pod whose source changed. A container that starts again, for example because a
// Secret lacked a key, then reads the new files at once.
func (v *Volumes) Refresh(ctx context.Context, uid types.UID) {
	if p := v.findPod(uid); p != nil {
		ctx, cancel := context.WithTimeout(ctx, restartTimeout)
		defer cancel()
		v.refreshPod(ctx, newObjectReader(v.opts.Client), p, false)
	}
}

// refreshPod refreshes the files of one pod.
func (v *Volumes) refreshPod(ctx context.Context, reader *objectReader, p *podVolumes, changedOnly bool) {
	p.mu.Lock()
	due := p.metadataChanged || !changedOnly
	p.metadataChanged = false
	pod, volumes, incomplete := p.pod, maps.Clone(p.volumes), p.incomplete
	p.mu.Unlock()
	if !due {
		return
	}
	if incomplete && !changedOnly { // nothing else retries once the pod runs
		if err := v.setUpAll(ctx, p, pod, filepath.Join(v.root, string(pod.UID))); err != nil {
			v.opts.Log.V(1).Info("Pod still has volumes that are not set up", "namespace", pod.Namespace, "pod", pod.Name, "err", err)
		}
	}
	b := &payloadBuilder{Volumes: v, pod: pod, tokens: &p.tokens, reader: reader}
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		if m, ok := volumes[volume.Name]; ok && m.hasPayload && !m.immutable {
			v.refreshVolume(ctx, b, p, volume, m)
		}
	}
}

// refreshVolume rewrites the files of one volume.
func (v *Volumes) refreshVolume(ctx context.Context, b *payloadBuilder, p *podVolumes, volume *corev1.Volume, m mountedVolume) {
	files, _, err := b.payload(ctx, volume)
	if err == nil {
		err = p.writePayload(volume, m, files)
	}
	if err != nil {
		v.opts.Log.Info("Failed to refresh a volume", "namespace", b.pod.Namespace, "pod", b.pod.Name, "volume", volume.Name, "err", err)
		return
	}
	if b.immutable {
		m.immutable = true
		p.mu.Lock()
		p.volumes[volume.Name] = m
		p.mu.Unlock()
	}
}
