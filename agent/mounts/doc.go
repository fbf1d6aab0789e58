// Package mounts lists and unmounts mount points below a directory: disks of virtual nodes, pod
// volumes, and mounts that container runtimes leave behind.
package mounts
