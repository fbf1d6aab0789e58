package containerd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/containerd/containerd/api/services/images/v1"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/image/oci"
	"github.com/berthproject/berth/agent/testprogram/pause"
)

// PauseImage is the name of the built-in image that sandboxes run. Image
// garbage collection must keep it: there is no registry to bring it again.
const PauseImage = "berth.dev/pause:1"

// loadPause gives the runtime its pause image, if it has none.
func (p *Daemon) loadPause(ctx context.Context) error {
	have, err := p.service.ImageStatus(ctx, &criapi.ImageSpec{Image: PauseImage})
	if err != nil || have != nil {
		return err
	}
	program, err := pause.Program()
	if err != nil {
		return err
	}
	image, err := oci.Build(oci.Spec{Layers: [][]oci.File{{{Path: "/pause", Mode: 0o755, Data: program}}}, Entrypoint: []string{"/pause"}})
	if err != nil {
		return fmt.Errorf("image of the pause program: %w", err)
	}
	return p.Load(ctx, PauseImage, image)
}

// Load gives the runtime an image under a name such as berth.dev/pause:1, which
// replaces what had that name. It is pulled from a registry in this process, so
// that it is unpacked as any image is, and then renamed.
func (p *Daemon) Load(ctx context.Context, name string, image v1.Image) error {
	registry, err := oci.StartRegistry()
	if err != nil {
		return err
	}
	defer registry.Close()
	pulled, err := registry.Add("load", "now", image)
	if err != nil {
		return fmt.Errorf("image %s: %w", name, err)
	}
	if _, err := p.service.PullImage(ctx, &criapi.ImageSpec{Image: pulled}, nil, nil); err != nil {
		return fmt.Errorf("image %s: loading: %w", name, err)
	}
	if err := p.renameImage(ctx, pulled, name); err != nil {
		return fmt.Errorf("image %s: naming: %w", name, err)
	}
	return p.waitForImage(ctx, name, registryHost(pulled)+"/")
}

// registryHost is the temporary registry that an image came from.
func registryHost(pulled string) string { return strings.TrimSuffix(pulled, "/load:now") }

// renameImage gives what is called from the name to. CRI has no call for it.
func (p *Daemon) renameImage(ctx context.Context, from, to string) error {
	conn, err := grpc.NewClient("unix://"+p.options.socket(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx = metadata.AppendToOutgoingContext(ctx, "containerd-namespace", "k8s.io")
	client := images.NewImagesClient(conn)
	got, err := client.Get(ctx, &images.GetImageRequest{Name: from})
	if err != nil {
		return err
	}
	as := &images.Image{Name: to, Labels: got.Image.Labels, Target: got.Image.Target}
	_, err = client.Create(ctx, &images.CreateImageRequest{Image: as})
	if status.Code(err) == codes.AlreadyExists {
		_, err = client.Update(ctx, &images.UpdateImageRequest{Image: as})
	}
	if err != nil {
		return err
	}
	// Digests of the temporary registry would be left as names that nobody can pull.
	list, err := client.List(ctx, &images.ListImagesRequest{})
	if err != nil {
		return err
	}
	registry := registryHost(from)
	for _, i := range list.Images {
		if len(i.Name) > len(registry) && i.Name[:len(registry)+1] == registry+"/" {
			if _, err := client.Delete(ctx, &images.DeleteImageRequest{Name: i.Name, Sync: true}); err != nil {
				return err
			}
		}
	}
	return nil
}

// waitForImage waits until CRI knows the image by its name, and by none that begins as those do which it was pulled by: it learns
// both from events, and looks for an image by whichever name it has.
func (p *Daemon) waitForImage(ctx context.Context, name, not string) error {
	for {
		image, err := p.service.ImageStatus(ctx, &criapi.ImageSpec{Image: name})
		if err != nil && status.Code(err) != codes.NotFound {
			return err
		}
		if image != nil && !slices.ContainsFunc(append(slices.Clone(image.RepoTags), image.RepoDigests...), func(n string) bool { return strings.HasPrefix(n, not) }) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}
