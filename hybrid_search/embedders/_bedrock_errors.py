"""What went wrong at Bedrock, in the words of this package.

Names and statuses are those of botocore's service model ``bedrock-runtime`` (2023-09-30).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hybrid_search.errors import (
    AccessDenied,
    DocumentError,
    HybridSearchError,
    InvalidInput,
    ModelUnavailable,
    Throttled,
    Unavailable,
)

if TYPE_CHECKING:
    from collections.abc import Callable


class ThrottledFor(Throttled):
    """Throttled, and the service said for how long."""

    def __init__(self, message: str, retry_after: float | None) -> None:
        super().__init__(message)
        self.retry_after = retry_after

    @property
    def reason(self) -> str:
        """The same as for every throttling."""
        return "throttled"


class ModelTimeout(ModelUnavailable):
    """The model took too long (408). Worth few more tries."""


class ModelError(ModelUnavailable):
    """The model failed on this text (424). Worth one or two more tries."""


class Unreachable(ModelUnavailable):
    """There is no connection to the endpoint. Meets every text."""


class ModelMissing(Unavailable):
    """The model is not there: wrong id or region, or retired. Meets every text."""


class QuotaExceeded(Unavailable):
    """A quota of the account is used up. Meets every text."""


class ExpiredToken(AccessDenied):
    """The credentials were good once."""


FATAL = (AccessDenied, ModelMissing, QuotaExceeded, Unreachable, InvalidInput)
"""What would meet every text: the run stops."""

LIMITS: dict[type[HybridSearchError], int] = {ModelTimeout: 3, ModelError: 3, Unreachable: 4}
"""Attempts for what seldom gets better by waiting."""


@dataclass(frozen=True, slots=True)
class _Failure:
    code: str
    message: str
    status: int
    retry_after: float | None
    model: str
    region: str

    @property
    def said(self) -> str:
        return f"Bedrock in {self.region} said {self.code}: {self.message}"


def failures() -> tuple[type[Exception], ...]:
    """List what a call to Bedrock, or reading its answer, can raise."""
    from botocore.exceptions import BotoCoreError, ClientError
    from urllib3.exceptions import HTTPError

    return (ClientError, BotoCoreError, HTTPError, OSError)


def translate(error: Exception, model: str, region: str | None) -> HybridSearchError:
    """Translate one of ``failures``.

    >>> from botocore.exceptions import NoCredentialsError
    >>> translate(NoCredentialsError(), "amazon.titan-embed-text-v2:0", None).reason
    'access_denied'
    """
    from botocore.exceptions import BotoCoreError, ClientError

    if isinstance(error, ClientError):
        return _of_answer(_failure(error, model, region or "no region"))
    if isinstance(error, BotoCoreError):
        return _of_client(error, region or "no region")
    return _broken(error)


def expired_again(error: ExpiredToken) -> AccessDenied:
    """Build the error for a token that is expired even after the credentials were read anew."""
    return AccessDenied(str(error))


def _failure(error: Any, model: str, region: str) -> _Failure:
    about = error.response.get("Error", {})
    meta = error.response.get("ResponseMetadata", {})
    return _Failure(
        code=about.get("Code", ""),
        message=about.get("Message", "").strip(),
        status=int(meta.get("HTTPStatusCode", 0)),
        retry_after=_seconds(meta.get("HTTPHeaders", {})),
        model=model,
        region=region,
    )


def _seconds(headers: dict[str, str]) -> float | None:
    """Read how long to wait: ``x-amz-retry-after`` is in milliseconds, ``retry-after`` is not."""
    for name, unit in (("x-amz-retry-after", 1000), ("retry-after", 1)):
        value = headers.get(name, "")
        if value.isdigit():
            return int(value) / unit
    return None


def _of_answer(failure: _Failure) -> HybridSearchError:
    make = _BY_CODE.get(failure.code)
    if make is not None:
        return make(failure)
    if failure.status in (401, 403):
        return _denied(failure)
    if failure.status == 429:
        return _throttled(failure)
    if failure.status >= 500:
        return ModelUnavailable(failure.said)
    return DocumentError(failure.said)


def _throttled(failure: _Failure) -> HybridSearchError:
    return ThrottledFor(failure.said, failure.retry_after)


def _denied(failure: _Failure) -> HybridSearchError:
    return AccessDenied(
        f"{failure.said}. Allow bedrock:InvokeModel on {failure.model} for these credentials, and "
        "enable access to the model in the Bedrock console of this region"
    )


def _unknown_key(failure: _Failure) -> HybridSearchError:
    return AccessDenied(
        f"{failure.said}. Check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
    )


def _bad_signature(failure: _Failure) -> HybridSearchError:
    return AccessDenied(
        f"{failure.said}. Check AWS_SECRET_ACCESS_KEY and this machine's clock: AWS refuses "
        "requests that are more than five minutes off"
    )


def _expired(failure: _Failure) -> HybridSearchError:
    return ExpiredToken(
        f"{failure.said}. Get new credentials (aws sso login, or a new AWS_SESSION_TOKEN)"
    )


def _missing(failure: _Failure) -> HybridSearchError:
    return ModelMissing(
        f"{failure.said}. Check the model id {failure.model!r}, and that this region has it"
    )


def _quota(failure: _Failure) -> HybridSearchError:
    return QuotaExceeded(
        f"{failure.said}. Ask for a higher quota in Service Quotas (Amazon Bedrock), or go on later"
    )


def _validation(failure: _Failure) -> HybridSearchError:
    about_model = ("model identifier", "on-demand throughput")
    if any(words in failure.message for words in about_model):
        return _missing(failure)
    return DocumentError(failure.said)


_BY_CODE: dict[str, Callable[[_Failure], HybridSearchError]] = {
    "ThrottlingException": _throttled,
    "TooManyRequestsException": _throttled,
    "ModelNotReadyException": lambda f: ModelUnavailable(f.said),
    "InternalServerException": lambda f: ModelUnavailable(f.said),
    "ServiceUnavailableException": lambda f: ModelUnavailable(f.said),
    "ModelTimeoutException": lambda f: ModelTimeout(f.said),
    "ModelErrorException": lambda f: ModelError(f.said),
    "ServiceQuotaExceededException": _quota,
    "ValidationException": _validation,
    "ResourceNotFoundException": _missing,
    "AccessDeniedException": _denied,
    "UnrecognizedClientException": _unknown_key,
    "InvalidClientTokenId": _unknown_key,
    "MissingAuthenticationTokenException": _unknown_key,
    "ExpiredTokenException": _expired,
    "ExpiredToken": _expired,
    "InvalidSignatureException": _bad_signature,
    "SignatureDoesNotMatch": _bad_signature,
    "IncompleteSignatureException": _bad_signature,
}


def _of_client(error: Exception, region: str) -> HybridSearchError:
    from botocore import exceptions as boto

    if isinstance(error, boto.NoRegionError | boto.InvalidRegionError):
        return InvalidInput(
            "no usable AWS region: set AWS_DEFAULT_REGION, or the embedder's region, e.g. us-east-1"
        )
    if isinstance(error, boto.ProfileNotFound):
        return InvalidInput(f"{error}: check AWS_PROFILE, or the embedder's profile")
    if isinstance(error, _without_credentials()):
        return AccessDenied(
            f"no usable AWS credentials ({error}): set AWS_PROFILE, or AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY, or run aws sso login"
        )
    if isinstance(error, boto.ProxyConnectionError | boto.SSLError):
        return Unreachable(f"{error}. Check HTTPS_PROXY, NO_PROXY and AWS_CA_BUNDLE")
    if isinstance(error, boto.ConnectionError):
        return Unreachable(f"{error}. Check the region ({region}), the endpoint and the network")
    if isinstance(error, boto.HTTPClientError | boto.IncompleteReadError):
        return _broken(error)
    return InvalidInput(f"Bedrock can't be asked like this: {error}")


def _without_credentials() -> tuple[type[Exception], ...]:
    from botocore import exceptions as boto

    return (
        boto.NoCredentialsError,
        boto.PartialCredentialsError,
        boto.CredentialRetrievalError,
        boto.MetadataRetrievalError,
        boto.NoAuthTokenError,
        boto.TokenRetrievalError,
        boto.SSOError,
        boto.LoginError,
    )


def _broken(error: Exception) -> HybridSearchError:
    return ModelUnavailable(f"the connection to Bedrock broke: {error}")
