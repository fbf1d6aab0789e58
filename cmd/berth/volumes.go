package main

import (
	"context"
	"fmt"
	"path/filepath"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent/mounts"
	"github.com/berthproject/berth/apiserver/auth/pki"
	"github.com/berthproject/berth/controllers/volume/localprovisioner"
	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/rungroup"
)

// startProvisioner starts the controller that provisions volumes as directories below
// root.
func startProvisioner(p *rungroup.Group, config *rest.Config, root string) error {
	config = rest.CopyConfig(config)
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	p.Start("directories for volumes", func(ctx context.Context) error {
		return localprovisioner.Run(ctx, client, root, klog.Background())
	})
	return nil
}

// startDefaultStorage creates the default StorageClass unless it exists, and starts its
// provisioner.
func startDefaultStorage(p *rungroup.Group, config *rest.Config, dir string) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	_, err = client.StorageV1().StorageClasses().Create(p.Ctx, localprovisioner.Class(), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("storageclass %s: %w", localprovisioner.ClassName, err)
	}
	return startProvisioner(p, cli.Impersonate(config, pki.Component("local-directory").Name), filepath.Join(dir, volumesDir))
}

// unmountVolumes unmounts the claims of a data directory, which agents on this machine have
// mounted. With detach it includes those that running pods use.
func unmountVolumes(dir string, detach bool) {
	dir, err := filepath.EvalSymlinks(filepath.Join(dir, volumesDir)) // as in mountinfo
	if err != nil {
		return
	}
	points, err := mounts.At(dir)
	if err != nil || len(points) == 0 {
		return
	}
	if err := mounts.Unmount(points, detach); err != nil {
		klog.Background().Info("Claims stay mounted", "directory", dir, "err", err.Error())
	}
}

// volumesDir is the directory of claims in the data directory.
const volumesDir = "volumes"
