"""Certificates: what a policy earns and loses at the most, and how far a learned model is off."""

from gim.belief.aim import Aim
from gim.belief.certificate.certificate import (
    Certificate,
    Coverage,
    Kind,
    certifiable,
    certified,
    certify,
)

__all__ = [
    "Aim",
    "Certificate",
    "Coverage",
    "Kind",
    "certifiable",
    "certified",
    "certify",
]
