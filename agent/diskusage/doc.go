// Package diskusage measures the disk usage of directories: volumes, logs and writable layers.
// Their contents are untrusted: links are not followed, and memory does not grow with the size of
// a directory.
package diskusage
