package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// S3 is a store in a bucket of S3, or of a server that speaks its protocol.
type S3 struct {
	client         *minio.Client
	bucket, prefix string
}

const (
	s3Scheme = "s3://"
	// s3Endpoint is where buckets are unless AWS_ENDPOINT_URL names another server.
	s3Endpoint = "https://s3.amazonaws.com"
	// s3Tries is how often a request is sent at most.
	s3Tries = 3
)

// IsS3 reports whether a place is a bucket, as in s3://BUCKET/PREFIX.
func IsS3(place string) bool { return strings.HasPrefix(place, s3Scheme) }

// NewS3 returns the store at s3://BUCKET/PREFIX. The bucket must exist. The server at the endpoint is a URL, "" for that of AWS; the region may
// be "". The credentials are those of the environment, of the file of the AWS tools, or of the machine.
func NewS3(place, endpoint, region string) (*S3, error) {
	bucket, prefix, _ := strings.Cut(strings.TrimPrefix(place, s3Scheme), "/")
	if endpoint == "" {
		endpoint = s3Endpoint
	}
	at, err := url.Parse(endpoint)
	if err != nil {
		return nil, fmt.Errorf("the endpoint of S3: %w", err)
	}
	client, err := minio.New(at.Host, &minio.Options{
		Creds: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{},
		}),
		Secure: at.Scheme != "http", Region: region, MaxRetries: s3Tries,
	})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", place, err)
	}
	if prefix = strings.Trim(prefix, "/"); prefix != "" {
		prefix += "/"
	}
	return &S3{client, bucket, prefix}, nil
}

// Put implements Store.
func (s *S3) Put(ctx context.Context, name string, content *os.File) error {
	info, err := content.Stat()
	if err != nil {
		return err
	}
	if _, err := s.client.PutObject(ctx, s.bucket, s.prefix+name, content, info.Size(), minio.PutObjectOptions{}); err != nil {
		return fmt.Errorf("store %s: %w", name, err)
	}
	return nil
}

// Get implements Store.
func (s *S3) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	content, err := s.client.GetObject(ctx, s.bucket, s.prefix+name, minio.GetObjectOptions{})
	if err == nil {
		_, err = content.Stat() // the first request
	}
	switch {
	case minio.ToErrorResponse(err).Code == minio.NoSuchKey:
		return nil, errors.Join(fmt.Errorf("%w: %s: %w", ErrDamaged, name, errMissing), content.Close())
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return content, nil
}

// List implements Store.
func (s *S3) List(ctx context.Context) ([]Stored, error) {
	var all []Stored
	for found := range s.client.ListObjectsIter(ctx, s.bucket, minio.ListObjectsOptions{Prefix: s.prefix}) {
		if found.Err != nil {
			return nil, fmt.Errorf("list the backups in s3://%s/%s: %w", s.bucket, s.prefix, found.Err)
		}
		if name := strings.TrimPrefix(found.Key, s.prefix); !strings.HasSuffix(name, "/") {
			all = append(all, Stored{name, found.Size, found.LastModified})
		}
	}
	return all, nil
}

// Delete implements Store.
func (s *S3) Delete(ctx context.Context, name string) error {
	if err := s.client.RemoveObject(ctx, s.bucket, s.prefix+name, minio.RemoveObjectOptions{}); err != nil {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	return nil
}
