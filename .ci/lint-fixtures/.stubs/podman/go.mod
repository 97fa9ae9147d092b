module github.com/containers/podman/v5

go 1.26.0
