"""Checks that a client and a scheduler agree on encryption."""

import ssl

import dask

from .._errors import SettingError


def check_encryption(address: str) -> None:
    """Raise an error if Dask's configuration does not match an address."""
    from distributed.security import Security

    security, encrypted = Security(), address.startswith("tls://")
    if security.require_encryption and not encrypted:
        raise SettingError(
            f"expected an address as tls://host:8786, for Dask's configuration requires encryption; got {address}"
        )
    named = security.tls_ca_file and security.tls_client_cert
    if encrypted and not named and not dask.config.get("distributed.client.security-loader"):
        raise SettingError(
            f"expected certificates for {address}; got none: name their files in Dask's configuration, or by "
            "DASK_DISTRIBUTED__COMM__TLS__CA_FILE, .._TLS__CLIENT__CERT and .._TLS__CLIENT__KEY in the environment"
        )


def disagreement(error: BaseException, address: str) -> Exception | None:
    """Return the error to raise if a scheduler answered, but not as its address and the certificates require.

    Parameters
    ----------
    error : Exception
        The error that connecting raised.
    address : str
        Address of the scheduler.

    Returns
    -------
    Exception or None
        None if nothing answered.

    Examples
    --------
    >>> print(disagreement(OSError("Timed out"), "tls://host:8786"))
    None
    """
    cause = error.__cause__ or error
    if address.startswith("tls://"):
        plain = f"tcp://{address.removeprefix('tls://')}"
        # A plain scheduler sends a greeting first, which is not TLS. Tornado raises a ValueError if it comes early.
        if isinstance(error, ValueError) or getattr(cause, "reason", None) == "WRONG_VERSION_NUMBER":
            return SettingError(
                f"expected a scheduler with TLS at {address}; it answers without: give it certificates, or name it "
                f"{plain}"
            )
        if isinstance(cause, ssl.SSLError):
            return PermissionError(
                f"the scheduler at {address} and this process do not accept each other's certificates: they must be "
                f"of the same authority and valid today ({cause.reason})"
            )
    elif isinstance(cause, ConnectionResetError):
        return ConnectionError(
            f"the scheduler at {address} closed the connection at once: if it is one with TLS, name it "
            f"tls://{address.removeprefix('tcp://')}"
        )
    return None
