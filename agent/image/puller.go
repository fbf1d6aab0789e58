package image

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/pods"
)

// Reasons for which a container waits for its image.
const (
	ReasonInvalidName  = "InvalidImageName"
	ReasonInspect      = "ImageInspectError"
	ReasonNeverPull    = "ErrImageNeverPull"
	ReasonPull         = "ErrImagePull"
	ReasonBackOff      = "ImagePullBackOff"
	ReasonUnavailable  = "RegistryUnavailable"
	ReasonBadSignature = "SignatureValidationFailed"
)

// Puller brings images. It may be used from many goroutines.
type Puller struct {
	opts    Options
	backoff backoff
	turn    chan struct{} // a place each for pulls under way; nil: any number
}

var _ pods.Images = (*Puller)(nil)

// New makes a Puller.
func New(o Options) *Puller {
	p := &Puller{opts: o.complete()}
	if p.opts.Parallel > 0 {
		p.turn = make(chan struct{}, p.opts.Parallel)
	}
	return p
}

// request is one wish for an image.
type request struct {
	pod       *corev1.Pod
	container *corev1.Container
	sandbox   *cri.PodSandboxConfig
	full      string // the image's name, with a tag or digest
	repo      string
	policy    corev1.PullPolicy
}

// Ensure makes the container's image be there, by its pull policy, and returns its id. An
// error other than ctx's is a *pods.Wait with the reason for the container's state.
func (p *Puller) Ensure(ctx context.Context, pod *corev1.Pod, container *corev1.Container, sandbox *cri.PodSandboxConfig) (string, error) {
	r := request{pod: pod, container: container, sandbox: sandbox, policy: container.ImagePullPolicy}
	var err error
	if r.full, r.repo, err = fullName(container.Image); err != nil {
		return "", p.refuse(&r, "InspectFailed", ReasonInvalidName, fmt.Sprintf("Failed to apply default image tag %q: %v", container.Image, err))
	}
	if r.policy == "" {
		r.policy = corev1.PullIfNotPresent
		if strings.HasSuffix(r.full, ":latest") {
			r.policy = corev1.PullAlways
		}
	}
	have, err := p.opts.Service.ImageStatus(ctx, r.spec())
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", p.refuse(&r, "InspectFailed", ReasonInspect, fmt.Sprintf("Failed to inspect image %q: %v", r.full, err))
	}
	switch {
	case have != nil && r.policy != corev1.PullAlways:
		return p.present(&r, have), nil
	case r.policy == corev1.PullNever:
		return "", p.refuse(&r, ReasonNeverPull, ReasonNeverPull, fmt.Sprintf("Container image %q is not present with pull policy of Never", container.Image))
	}
	return p.bring(ctx, &r)
}

// spec is what the runtime is asked for.
func (r *request) spec() *cri.ImageSpec {
	return &cri.ImageSpec{Image: r.full, UserSpecifiedImage: r.container.Image}
}

// present says that the image is there already.
func (p *Puller) present(r *request, have *cri.Image) string {
	p.event(r, corev1.EventTypeNormal, "Pulled", fmt.Sprintf("Container image %q already present on machine and can be accessed by the pod", r.container.Image))
	return have.Id
}

// bring pulls the image, unless a pause after a failure lasts.
func (p *Puller) bring(ctx context.Context, r *request) (string, error) {
	key := attempt{r.pod.UID, r.full}
	if until, why, wait := p.backoff.waits(key, p.opts.Now()); wait {
		message := fmt.Sprintf("Back-off pulling image %q", r.container.Image)
		p.event(r, corev1.EventTypeNormal, "BackOff", message)
		p.failed(r, ReasonBackOff)
		return "", &pods.Wait{Reason: ReasonBackOff, Message: message + ": " + why, Again: until}
	}
	asked := p.opts.Now()
	if err := p.take(ctx); err != nil {
		return "", err
	}
	defer p.give()
	if r.policy != corev1.PullAlways {
		// Another pod may have brought it meanwhile.
		if have, err := p.opts.Service.ImageStatus(ctx, r.spec()); err == nil && have != nil {
			return p.present(r, have), nil
		}
	}
	p.event(r, corev1.EventTypeNormal, "Pulling", fmt.Sprintf("Pulling image %q", r.container.Image))
	began := p.opts.Now()
	id, err := p.pull(ctx, r)
	if ctx.Err() != nil {
		return "", ctx.Err() // nobody wants it any more: no failure of the image
	}
	ended := p.opts.Now()
	if err != nil {
		reason, message := inWords(r, err)
		p.event(r, corev1.EventTypeWarning, "Failed", fmt.Sprintf("Failed to pull image %q: %s", r.container.Image, message))
		p.failed(r, reason)
		p.backoff.failed(key, reason+": "+message, ended)
		return "", &pods.Wait{Reason: reason, Message: message}
	}
	size := p.size(ctx, r)
	p.opts.Changed()
	p.opts.Metrics.pulled(size, ended.Sub(began))
	p.event(r, corev1.EventTypeNormal, "Pulled", fmt.Sprintf("Successfully pulled image %q in %v (%v including waiting). Image size: %d bytes.",
		r.container.Image, ended.Sub(began).Truncate(time.Millisecond), ended.Sub(asked).Truncate(time.Millisecond), size))
	return id, nil
}

// take waits for this pull's turn.
func (p *Puller) take(ctx context.Context) error {
	if p.turn == nil {
		return nil
	}
	select {
	case p.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *Puller) give() {
	if p.turn != nil {
		<-p.turn
	}
}

// pull asks for the image with each credential that matches, or with none.
func (p *Puller) pull(ctx context.Context, r *request) (string, error) {
	auths, unusable := p.credentials(ctx, r.pod, r.repo)
	if len(unusable) > 0 {
		p.event(r, corev1.EventTypeWarning, "FailedToRetrieveImagePullSecret",
			fmt.Sprintf("Unable to retrieve some image pull secrets (%s); attempting to pull the image may not succeed.", strings.Join(unusable, ", ")))
	}
	if len(auths) == 0 {
		auths = append(auths, nil)
	}
	var errs []error
	for _, auth := range auths {
		id, err := p.opts.Service.PullImage(ctx, r.spec(), auth, r.sandbox)
		if err == nil || ctx.Err() != nil {
			return id, err
		}
		errs = append(errs, err)
	}
	if len(errs) == 1 {
		return "", errs[0]
	}
	return "", errors.Join(errs...)
}

// inWords is the reason and the message of a failed pull. Runtimes put the two special
// reasons into the text of the error.
func inWords(r *request, err error) (reason, message string) {
	switch text := err.Error(); {
	case strings.Contains(text, ReasonUnavailable):
		return ReasonUnavailable, fmt.Sprintf("image pull failed for %s because the registry is unavailable: %s", r.container.Image, text)
	case strings.Contains(text, ReasonBadSignature):
		return ReasonBadSignature, fmt.Sprintf("image pull failed for %s because the signature validation failed: %s", r.container.Image, text)
	default:
		return ReasonPull, text
	}
}

// size of the image in bytes as the runtime has it; 0 when it does not say.
func (p *Puller) size(ctx context.Context, r *request) uint64 {
	have, err := p.opts.Service.ImageStatus(ctx, r.spec())
	if err != nil || have == nil {
		return 0
	}
	return have.Size
}

// refuse makes the error of a container that cannot have its image, with its event.
func (p *Puller) refuse(r *request, event, reason, message string) error {
	p.event(r, corev1.EventTypeWarning, event, message)
	p.failed(r, reason)
	return &pods.Wait{Reason: reason, Message: message}
}

// failed records what the kubelet says whenever a container does not start.
func (p *Puller) failed(r *request, reason string) {
	p.event(r, corev1.EventTypeWarning, "Failed", "Error: "+reason)
}

func (p *Puller) event(r *request, eventType, reason, message string) {
	p.opts.Event(r.pod, r.container.Name, eventType, reason, message)
}
