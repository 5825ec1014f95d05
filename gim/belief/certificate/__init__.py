"""Certificates: what a policy earns and loses at the most, and how far a learned model is off."""

from gim.belief.certificate.certificate import (
    Certifiable,
    Certificate,
    Coverage,
    Kind,
    certifiable,
    certified,
    certify,
)
from gim.belief.certificate.facts import facts_of
from gim.belief.grounds import Aim, Grounds

__all__ = [
    "Aim",
    "Certifiable",
    "Certificate",
    "Coverage",
    "Grounds",
    "Kind",
    "certifiable",
    "certified",
    "certify",
    "facts_of",
]
