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

	"github.com/berthproject/berth/apiserver/auth/pki"
	"github.com/berthproject/berth/control/volume/directory"
)

// startProvisioner starts the loop that makes directories below root for claims.
func startProvisioner(p *parts, config *rest.Config, root string) error {
	config = rest.CopyConfig(config)
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	p.run("directories for volumes", func(ctx context.Context) error {
		return directory.Run(ctx, client, root, klog.Background())
	})
	return nil
}

// startVolumes gives a cluster a default class whose volumes are directories below its
// data directory. A class of that name that is there stays as it is.
func startVolumes(p *parts, config *rest.Config, dir string) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	_, err = client.StorageV1().StorageClasses().Create(p.ctx, directory.Class(), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("storageclass %s: %w", directory.ClassName, err)
	}
	return startProvisioner(p, as(config, pki.Component("local-directory").Name), filepath.Join(dir, "volumes"))
}
