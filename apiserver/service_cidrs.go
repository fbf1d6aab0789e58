package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	networkinginformers "k8s.io/client-go/informers/networking/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

const (
	// serviceCIDRFinalizer is the finalizer of Kubernetes for ServiceCIDRs with addresses in use.
	serviceCIDRFinalizer = "networking.k8s.io/service-cidr-finalizer"
	// serviceCIDRGracePeriod is the time from the deletion of a ServiceCIDR to the first check of its addresses. It
	// covers the requests that have read the ServiceCIDR before its deletion.
	serviceCIDRGracePeriod = 10 * time.Second
	// serviceCIDRInterval is the interval between checks of ServiceCIDRs that are being deleted.
	serviceCIDRInterval = 5 * time.Second
)

// serviceCIDRController reports ServiceCIDRs as ready and protects those with IPAddresses. Several servers may run it
// at the same time.
type serviceCIDRController struct {
	client      kubernetes.Interface
	serverRange netip.Prefix // from the options of the server
	objects     cache.SharedIndexInformer
	changed     chan struct{}
}

// newServiceCIDRController returns a controller of a server with this range. The range must be valid.
func newServiceCIDRController(client kubernetes.Interface, serverRange string) *serviceCIDRController {
	c := &serviceCIDRController{client: client, objects: networkinginformers.NewServiceCIDRInformer(client, 0, cache.Indexers{}), changed: make(chan struct{}, 1)}
	c.serverRange, _ = netip.ParsePrefix(serverRange) // Options.validate has checked it
	return c
}

// run reconciles all objects after each change and every serviceCIDRInterval, until ctx is done.
func (c *serviceCIDRController) run(ctx context.Context) {
	notify := func() {
		select {
		case c.changed <- struct{}{}:
		default:
		}
	}
	_, err := c.objects.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { notify() }, UpdateFunc: func(any, any) { notify() }, DeleteFunc: func(any) { notify() }})
	if err != nil {
		klog.ErrorS(err, "Failed to watch ServiceCIDRs")
		return
	}
	go c.objects.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), c.objects.HasSynced) {
		return
	}
	tick := time.NewTicker(serviceCIDRInterval)
	defer tick.Stop()
	for {
		if err := c.reconcileAll(ctx); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Failed to reconcile ServiceCIDRs; retrying", "interval", serviceCIDRInterval)
		}
		select {
		case <-ctx.Done():
			return
		case <-c.changed:
		case <-tick.C:
		}
	}
}

func (c *serviceCIDRController) reconcileAll(ctx context.Context) error {
	var objects []*networkingv1.ServiceCIDR
	for _, object := range c.objects.GetStore().List() {
		objects = append(objects, object.(*networkingv1.ServiceCIDR))
	}
	var errs []error
	for _, object := range objects {
		var err error
		if object.DeletionTimestamp == nil {
			err = c.protect(ctx, object.DeepCopy())
		} else if slices.Contains(object.Finalizers, serviceCIDRFinalizer) {
			err = c.release(ctx, object.DeepCopy(), c.rangesWithout(objects, object))
		}
		if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("ServiceCIDR %s: %w", object.Name, err))
		}
	}
	return errors.Join(errs...)
}

// protect adds the finalizer and then reports the object as ready. runDefaultServiceCIDR reports the
// default object.
func (c *serviceCIDRController) protect(ctx context.Context, object *networkingv1.ServiceCIDR) error {
	if !slices.Contains(object.Finalizers, serviceCIDRFinalizer) {
		object.Finalizers = append(object.Finalizers, serviceCIDRFinalizer)
		updated, err := c.client.NetworkingV1().ServiceCIDRs().Update(ctx, object, metav1.UpdateOptions{})
		if err != nil {
			return err
		}
		object = updated
	}
	if object.Name == defaultServiceCIDR {
		return nil
	}
	return c.setReady(ctx, object, metav1.ConditionTrue, "Ready", "Kubernetes Service CIDR is ready")
}

// release removes the finalizer of an object that is being deleted. It waits for serviceCIDRGracePeriod, and until
// each IPAddress in the object's ranges is also in a remaining range.
func (c *serviceCIDRController) release(ctx context.Context, object *networkingv1.ServiceCIDR, remaining []netip.Prefix) error {
	if time.Since(object.DeletionTimestamp.Time) < serviceCIDRGracePeriod {
		return c.setReady(ctx, object, metav1.ConditionFalse, networkingv1.ServiceCIDRReasonTerminating, "The ServiceCIDR is being deleted; no address is allocated from it")
	}
	inUse, err := c.inUse(ctx, parsePrefixes(object.Spec.CIDRs), remaining)
	if err != nil {
		return err
	}
	if inUse != "" {
		return c.setReady(ctx, object, metav1.ConditionFalse, networkingv1.ServiceCIDRReasonTerminating,
			"There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR")
	}
	object.Finalizers = slices.DeleteFunc(object.Finalizers, func(f string) bool { return f == serviceCIDRFinalizer })
	_, err = c.client.NetworkingV1().ServiceCIDRs().Update(ctx, object, metav1.UpdateOptions{})
	return err
}

// inUse returns the name of an IPAddress in the ranges that is in none of the remaining ones, or "".
func (c *serviceCIDRController) inUse(ctx context.Context, ranges, remaining []netip.Prefix) (string, error) {
	addresses, err := c.client.NetworkingV1().IPAddresses().List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", fmt.Errorf("listing IPAddresses: %w", err)
	}
	for i := range addresses.Items {
		addr, err := netip.ParseAddr(addresses.Items[i].Name)
		if err == nil && containsAddr(ranges, addr) && !containsAddr(remaining, addr) {
			return addresses.Items[i].Name, nil
		}
	}
	return "", nil
}

// setReady writes the Ready condition if it differs.
func (c *serviceCIDRController) setReady(ctx context.Context, object *networkingv1.ServiceCIDR, status metav1.ConditionStatus, reason, message string) error {
	if !meta.SetStatusCondition(&object.Status.Conditions, metav1.Condition{Type: networkingv1.ServiceCIDRConditionReady, Status: status, Reason: reason, Message: message}) {
		return nil
	}
	_, err := c.client.NetworkingV1().ServiceCIDRs().UpdateStatus(ctx, object, metav1.UpdateOptions{})
	return err
}

// rangesWithout returns the ranges that remain without an object. These are the ranges of the objects that are not
// being deleted, and the one of the server unless object is its ServiceCIDR.
func (c *serviceCIDRController) rangesWithout(objects []*networkingv1.ServiceCIDR, object *networkingv1.ServiceCIDR) []netip.Prefix {
	var ranges []netip.Prefix
	if object.Name != defaultServiceCIDR {
		ranges = append(ranges, c.serverRange)
	}
	for _, other := range objects {
		if other.DeletionTimestamp == nil {
			ranges = append(ranges, parsePrefixes(other.Spec.CIDRs)...)
		}
	}
	return ranges
}

// parsePrefixes returns the valid CIDRs.
func parsePrefixes(cidrs []string) []netip.Prefix {
	var ranges []netip.Prefix
	for _, cidr := range cidrs {
		if prefix, err := netip.ParsePrefix(cidr); err == nil {
			ranges = append(ranges, prefix)
		}
	}
	return ranges
}

func containsAddr(ranges []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(ranges, func(p netip.Prefix) bool { return p.Contains(addr) })
}
